"""Two runs side by side."""

import time

import pytest
from rich.console import Console

from warpsmith.core import Candidate, UsageError, Wrong
from warpsmith.report.diff import diff_programs, diff_runs, file_diff
from warpsmith.report.sides import file_text, side_by_side

FILES = {"model_new.py": "import cuda_extension\n", "kernels/a.cu": "// one\n// two\n"}


@pytest.fixture
def shown():
    def show(found, width=160):
        console = Console(width=width, markup=False, highlight=False)
        with console.capture() as captured:
            for part in side_by_side(found):
                console.print(part)
        return captured.get()

    return show


def program(**changes):
    return Candidate.of({**FILES, **changes})


def test_a_file_that_differs_is_shown_line_by_line():
    (found,) = diff_programs(program(), program(**{"kernels/a.cu": "// one\n// three\n"}))
    assert found.path == "kernels/a.cu"
    assert found.diff.splitlines() == [
        "--- a/kernels/a.cu",
        "+++ b/kernels/a.cu",
        "@@ -1,2 +1,2 @@",
        " // one",
        "-// two",
        "+// three",
    ]


def test_a_file_that_only_one_has_is_shown_whole():
    (found,) = diff_programs(program(), program(**{"kernels/b.cu": "// new\n"}))
    assert found.diff.splitlines()[:2] == ["--- /dev/null", "+++ b/kernels/b.cu"]
    assert "+// new" in found.diff


def test_equal_programs_differ_in_nothing_and_no_program_in_everything():
    assert diff_programs(program(), program()) == ()
    assert {file.path for file in diff_programs(None, program())} == set(FILES)
    assert diff_programs(None, None) == ()


@pytest.mark.parametrize(
    ("before", "after"), [("a", "a\n"), ("", "\n"), ("a\n", "a\r\n"), (None, ""), ("a\x0cb", "a\nb")]
)
def test_a_difference_that_one_does_not_see_is_one(before, after):
    text = file_diff("x.cu", before, after)
    assert text != "" or before is None


def test_a_last_line_without_an_end_is_marked_as_patches_do():
    assert file_diff("x.cu", "a", "a\n").splitlines()[2:] == [
        "@@ -1 +1 @@",
        "-a",
        "\\ No newline at end of file",
        "+a",
    ]


def test_files_too_long_to_be_compared_are_said_to_be_so_at_once():
    before = "".join(f"{number % 150}\n" for number in range(300_000))
    begun_s = time.process_time()
    assert "too long" in file_diff("x.cu", before, "0\n" + before)
    assert time.process_time() - begun_s < 5


def test_a_removed_line_of_dashes_is_no_heading():
    text = file_text(diff_programs(program(), program(**{"kernels/a.cu": "// one\n"}))[0])
    styles = {text.plain[span.start : span.end].strip(): span.style for span in text.spans}
    assert styles["-// two"] == "red"
    assert styles["--- a/kernels/a.cu"] == "bold"


def test_verdicts_and_cost_stand_side_by_side(shown, tmp_path, write_run, make_passed):
    write_run(tmp_path / "one")
    write_run(tmp_path / "two", verdict=make_passed(candidate=50.0), candidate=program())
    found = diff_runs(tmp_path / "one", tmp_path / "two")
    lines = {line.split("  ")[0]: line for line in shown(found).splitlines()}
    assert "100 µs" in lines["ours"]
    assert "50.0 µs" in lines["ours"]
    assert "1.20× [1.18, 1.22]" in lines["ratio"]
    assert "2.40× [2.38, 2.42]" in lines["ratio"]
    assert "3 min 05 s" in lines["wall"]
    assert found.warnings == ()
    assert {file.path for file in found.files} == {"kernels/a.cu", "kernels/rmsnorm.cu"}


def test_a_run_against_itself_differs_in_nothing(shown, tmp_path, write_run):
    found = diff_runs(write_run(tmp_path / "one"), tmp_path / "one")
    assert (found.files, found.environment, found.warnings) == ((), (), ())
    assert all(row.a == row.b for row in (*found.verdict, *found.cost))
    assert "the programs are the same" in shown(found)


def test_what_keeps_one_from_comparing_is_said_first(shown, tmp_path, write_run, make_passed, monkeypatch):
    write_run(tmp_path / "one")
    write_run(tmp_path / "two", verdict=make_passed(measured=False))
    text = tmp_path / "two" / "trajectory.jsonl"
    text.write_text(text.read_text().replace("rmsnorm", "softmax", 2).replace("task_digest", "x", 1))
    first = (tmp_path / "two" / "trajectory.jsonl").read_text().splitlines()[0]
    assert '"softmax"' in first
    text.write_text(text.read_text().replace('"x":', '"task_digest": "other", "x":', 1))
    shown_first = shown(diff_runs(tmp_path / "one", tmp_path / "two")).splitlines()[:2]
    assert shown_first[0].startswith("different tasks (rmsnorm and softmax)")
    assert "one time is measured, the other modelled" in shown_first[1]


@pytest.mark.parametrize("verdict", [None, Wrong(what="values", message="at [0]", error=1.0, allowed=1e-6)])
def test_a_run_without_a_program_is_compared_too(shown, tmp_path, write_run, verdict):
    write_run(tmp_path / "one")
    write_run(tmp_path / "two", verdict=verdict)
    text = shown(diff_runs(tmp_path / "one", tmp_path / "two"))
    assert ("nothing correct found" if verdict is None else "wrong: values") in text
    assert "100 µs" in text


def test_an_unfinished_run_has_spent_what_its_turns_have(tmp_path, write_run):
    write_run(tmp_path / "one", finished=False)
    found = diff_runs(tmp_path / "one", tmp_path / "one")
    assert found.a.cost.wall_s == 3.0


def test_a_folder_that_is_no_run_is_refused(tmp_path, write_run):
    write_run(tmp_path / "one")
    with pytest.raises(UsageError, match="no readable run"):
        diff_runs(tmp_path / "one", tmp_path / "two")
