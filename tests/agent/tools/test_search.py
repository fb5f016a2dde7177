"""Finding files and lines, also with patterns that never end."""

import os
import time

import pytest

from warpsmith.agent.tools import searching
from warpsmith.agent.tools.searching import _translated

FILES = {
    "model_new.py": "import torch\nclass ModelNew: ...\n",
    "kernels/a.cu": "#include <x>\n__global__ void one() {}\n// ONE\n",
    "kernels/deep/b.cuh": "one\ntwo\none\n",
    "kernels/deep/c.txt": "none of these\n",
}


@pytest.fixture
def full(any_bench):
    for name, text in FILES.items():
        (any_bench.root / name).parent.mkdir(parents=True, exist_ok=True)
        (any_bench.root / name).write_text(text)
    return any_bench


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.cu", "kernels/a.cu"),
        ("kernels/*", "kernels/a.cu"),
        ("kernels/**/*.cu*", "kernels/a.cu\nkernels/deep/b.cuh"),
        ("**/*.{cuh,txt}", "kernels/deep/b.cuh\nkernels/deep/c.txt"),
        ("[bc].*", "kernels/deep/b.cuh\nkernels/deep/c.txt"),
        ("?.cu", "kernels/a.cu"),
        ("[!a].cuh", "kernels/deep/b.cuh"),
        ("**", "SKILL.md\nmodel.py\nmodel_new.py\nkernels/a.cu\nkernels/deep/b.cuh\nkernels/deep/c.txt"),
        ("*.rs", "no file matches *.rs"),
    ],
)
def test_files_are_found_by_their_names(full, pattern, found):
    assert full.say("glob", pattern=pattern) == found


def test_a_search_can_begin_in_a_folder(full):
    assert full.say("glob", pattern="*", path="kernels/deep") == "kernels/deep/b.cuh\nkernels/deep/c.txt"
    assert full.say("grep", pattern="one", path="kernels/a.cu") == (
        "1 lines match, in 1 of 1 files\nkernels/a.cu:2:__global__ void one() {}"
    )


def test_lines_are_found_by_a_pattern(full):
    assert full.say("grep", pattern=r"\bone\b", glob="kernels/**") == (
        "3 lines match, in 2 of 3 files\nkernels/a.cu:2:__global__ void one() {}\n"
        "kernels/deep/b.cuh:1:one\nkernels/deep/b.cuh:3:one"
    )
    assert full.say("grep", pattern="ONE", glob="*.cu", ignore_case=True).startswith("2 lines match")
    assert full.say("grep", pattern="nowhere at all", glob="*.cu") == "no line matches, in 1 files"


def test_lines_around_a_match_are_shown(full):
    (full.root / "long.txt").write_text("\n".join(f"line {number}" for number in range(1, 21)))
    assert full.say("grep", pattern="line (5|15)$", path="long.txt", context=1).splitlines()[1:] == [
        "long.txt-4-line 4",
        "long.txt:5:line 5",
        "long.txt-6-line 6",
        "--",
        "long.txt-14-line 14",
        "long.txt:15:line 15",
        "long.txt-16-line 16",
    ]


@pytest.mark.parametrize("pattern", ["(", "[", "*x", "(?P<a>x)(?P<a>y)", "x{99999999999}"])
def test_a_pattern_that_is_none_is_explained(full, pattern):
    text = full.say("grep", pattern=pattern)
    assert text.startswith("error: ")
    assert "is no regular expression of Python's" in text


def test_a_pattern_of_names_that_is_none_is_explained(full):
    assert "is no pattern of names" in full.say("glob", pattern="[z-a]")


def test_a_place_that_is_none_is_explained(full):
    assert (
        full.say("glob", pattern="*", path="gone")
        == "error: gone is neither a file nor a folder of the workspace"
    )


def test_a_pattern_that_never_ends_is_ended(bench, monkeypatch):
    from warpsmith.agent.workspace import shell
    from warpsmith.core import Limits

    monkeypatch.setattr(shell, "SEARCH_LIMITS", Limits(wall_s=1.0, memory_bytes=1 << 30))
    (bench.root / "a.txt").write_text("a" * 200 + "\n")
    begun = time.monotonic()
    text = bench.say("grep", pattern="(a+)+$b")
    assert time.monotonic() - begun < 10
    assert text.startswith("error: the search was ended ([warpsmith: killed after 1 s])")
    assert "repetitions within repetitions" in text


def test_a_search_sees_neither_links_nor_what_is_no_text(full):
    outside = full.folder / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("hunter2")
    (full.root / "link").symlink_to(outside)
    (full.root / "linked.txt").symlink_to(outside / "secret.txt")
    (full.root / "binary").write_bytes(b"hunter2\0")
    os.mkfifo(full.root / "pipe")
    assert full.say("grep", pattern="hunter2").startswith("no line matches")
    assert "secret" not in full.say("glob", pattern="**")
    assert "lies outside" in full.say("grep", pattern="hunter2", path="link")


def test_a_search_changes_nothing_and_cannot(full):
    before = {path: path.stat().st_mtime_ns for path in full.root.rglob("*")}
    full.say("grep", pattern="one")
    assert {path: path.stat().st_mtime_ns for path in full.root.rglob("*")} == before


def test_many_finds_are_cut_and_counted(bench):
    bench.say("bash", command="for i in {1..600}; do echo hit > f$i.txt; done; seq 1 1000 > numbers")
    text = bench.say("glob", pattern="*.txt")
    assert len(text) < 6_200
    assert text.endswith("[... 100 more; give a narrower pattern ...]")
    text = bench.say("grep", pattern="hit")
    assert text.startswith("600 lines match, in 600 of")
    assert "[... 400 more; give a narrower pattern, path or glob ...]" in text
    assert len(bench.say("grep", pattern=".", path="numbers")) < 6_200


def test_a_long_line_is_cut(bench):
    (bench.root / "a.txt").write_text("x" * 10_000)
    text = bench.say("grep", pattern="x", path="a.txt")
    assert len(text) < 500
    assert "9700 characters more" in text


def test_a_name_that_is_no_text_is_shown_in_ascii(bench):
    (bench.root / os.fsdecode(b"\xff.txt")).write_text("hit")
    assert "\\udcff.txt" in bench.say("glob", pattern="*.txt")
    assert "\\udcff.txt:1:hit" in bench.say("grep", pattern="hit")


def test_special_characters_of_other_patterns_are_ordinary_here():
    assert _translated("a.b+c") == r"a\.b\+c"
    assert _translated("{") == r"\{"
    assert searching.MAX_MATCHES == 200
