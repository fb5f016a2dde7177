"""The README of a run folder, by its claims."""

import re

import pytest

from warpsmith.core import Candidate, Implausible, Wrong
from warpsmith.report.readme import readme
from warpsmith.report.runs import read_run


@pytest.fixture
def text(tmp_path, write_run):
    folder = write_run(tmp_path / "run")
    return readme(read_run(folder), Candidate.from_folder(folder))


def test_it_says_what_was_replaced_and_by_whom(text):
    assert text.startswith("# rmsnorm: correct, faster")
    for fact in ("/tasks/rmsnorm.py", "at scale 0.015625", "builtin policy", "`state_dict`"):
        assert fact in text


def test_it_tells_what_each_kernel_does_and_takes(text):
    assert "> One block a row: sums squares in registers," in text
    assert "`scale_rows`" in text
    assert re.search(r"`scale_rows` \| sm_90a \| 32 \| 0 B \| 2.00 KiB", text)


def test_it_shows_times_with_their_provenance(text):
    assert "Measured on NVIDIA H200" in text
    assert "1.43× [1.41, 1.45]" in text
    assert "| torch.compile | 120 µs | 1.20× [1.18, 1.22] |" in text


def test_modelled_times_are_no_speed_up(tmp_path, write_run, make_passed):
    folder = write_run(tmp_path / "run", verdict=make_passed(measured=False))
    text = readme(read_run(folder), Candidate.from_folder(folder))
    assert "**modelled**" in text
    assert "| eager PyTorch | 143 µs (modelled) | modelled |" in text
    assert not re.search(r"\d× \[", text)


def test_it_says_how_to_use_rebuild_and_verify(text):
    example = re.search(r"```python\n(.+?)```", text, re.DOTALL)
    compile(example[1], "README.md", "exec")
    assert "warpsmith build ." in text
    assert "warpsmith verify task.py . --device cpu" in text


def test_it_gives_the_errors_and_the_environment(text):
    assert "float64" in text
    assert "3.1e-07" in text
    assert "| torch | 2.13.0 |" in text


def test_a_baseline_that_does_not_compile_is_said_to(tmp_path, write_run, make_passed):
    folder = write_run(tmp_path / "run", verdict=make_passed(compiled=None))
    assert "| torch.compile | does not work" in readme(read_run(folder), Candidate.from_folder(folder))


def test_finding_nothing_is_said_plainly(tmp_path, write_run):
    text = readme(read_run(write_run(tmp_path / "run", verdict=None)), None)
    assert text.startswith("# rmsnorm: nothing correct found")
    assert "ModelNew" not in text


@pytest.mark.parametrize(
    "verdict", [Wrong(what="values", message="at [0]"), Implausible(message="under the floor")]
)
def test_a_final_verdict_that_is_no_pass_is_shown(tmp_path, write_run, verdict):
    folder = write_run(tmp_path / "run", verdict=verdict)
    text = readme(read_run(folder), Candidate.from_folder(folder))
    assert "at [0]" in text or "under the floor" in text


def test_an_author_s_markup_stays_text(tmp_path, write_run):
    hostile = "// <script>alert(1)</script> | ``` [x](y) \x1b[31m\n__global__ void k() {}\n"
    candidate = Candidate.of({"model_new.py": "", "kernels/a.cu": hostile})
    folder = write_run(tmp_path / "run", candidate=candidate)
    text = readme(read_run(folder), candidate)
    assert "<script>" not in text
    assert "\x1b" not in text
    assert text.count("```") % 2 == 0
    assert "\n```" not in text.split("script")[1].split("\n")[0]
