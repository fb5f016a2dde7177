"""What is a program among all that a small model may say."""

import pytest

from warpsmith.core import Candidate
from warpsmith.learn.answering.reply import Flaw, Program, Unread, read_reply, reply_text


def test_whole_files_are_a_program(talk):
    read = read_reply(f"Here it is.\n\n{talk.reply()}\n\nGood luck!", is_cut=False)
    assert isinstance(read, Program)
    assert [path for path, _ in read.candidate.files] == ["kernels/k.cu", "model_new.py"]
    assert read.candidate.text("kernels/k.cu").strip() == talk.kernel


def test_what_is_written_reads_back():
    files = {"model_new.py": "x = '```'\n", "kernels/a.cu": "// ```cuda\nint a;\n", "kernels/b.cuh": "\n"}
    read = read_reply(reply_text(Candidate.of(files)), is_cut=False)
    assert isinstance(read, Program)
    assert {path: text.rstrip() for path, text in read.candidate.files} == {
        path: text.rstrip() for path, text in files.items()
    }


@pytest.mark.parametrize(
    ("text", "is_cut", "flaw"),
    [
        ("", False, Flaw.NO_FILE),
        ("I cannot do that.", False, Flaw.NO_FILE),
        ("```python\nclass ModelNew: ...\n```", False, Flaw.NO_FILE),
        ("model_new.py\n```python\nclass ModelNew:", True, Flaw.CUT),
        ("model_new.py\n```python\nclass ModelNew:", False, Flaw.CUT),
        ("The kernel is", True, Flaw.CUT),
        ("kernels/k.cu\n```cuda\nint a;\n```", False, Flaw.NO_MODULE),
        ("kernels/k.cu\n```cuda\nint a;\n```\nmodel", True, Flaw.CUT),
        ("model_new.py\n```python\n1\n```\ntorch.py\n```\n1\n```", False, Flaw.BAD_FILE),
        ("\x00\ud800 model_new.py\n```\n", False, Flaw.CUT),
        ("```" * 5_000, False, Flaw.NO_FILE),
        ("<think>model_new.py\n```python\n1\n```", False, Flaw.NO_FILE),
    ],
)  # fmt: skip
def test_what_is_no_program_says_why(text, is_cut, flaw):
    read = read_reply(text, is_cut=is_cut)
    assert isinstance(read, Unread), read
    assert read.flaw is flaw
    assert read.message


def test_a_reply_cut_behind_its_last_file_still_counts(talk):
    assert isinstance(read_reply(talk.reply() + "\n\nThis program", is_cut=True), Program)
