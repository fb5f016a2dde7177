"""Run folders read back, however broken."""

import os

import pytest

from warpsmith.agent.record import LOCK, TRAJECTORY, VERDICT
from warpsmith.report import runs
from warpsmith.report.runs import BrokenRun, Run, RunState, list_runs, read_lines, read_run
from warpsmith.report.turns import counted, summarize


def test_a_finished_run_is_read_whole(tmp_path, write_run, make_passed):
    run = read_run(write_run(tmp_path / "one"))
    assert isinstance(run, Run)
    assert run.state is RunState.FINISHED
    assert run.verdict == make_passed()
    assert run.started.policy == "builtin"


def test_its_turns_say_what_was_done_and_what_came_of_it(tmp_path, write_run, make_passed):
    summary = summarize(read_lines(write_run(tmp_path / "one")))
    (turn,) = summary.turns
    assert turn.said == "I begin simply."
    assert turn.did == ("write kernels/rmsnorm.cu",)
    assert turn.verdict == make_passed()
    assert turn.cost.wall_s == 3.0
    assert (summary.num_damaged_lines, summary.aborted) == (0, None)


def test_many_calls_of_a_turn_are_counted():
    assert counted(["write a.cu", "write b.cu", "compile", "bash ls"]) == "write ×2, compile, bash ls"
    assert counted([]) == ""


def test_a_run_that_found_nothing_has_no_verdict(tmp_path, write_run):
    run = read_run(write_run(tmp_path / "one", verdict=None))
    assert isinstance(run, Run)
    assert run.verdict is None


def test_a_killed_run_keeps_its_best(tmp_path, write_run, make_passed):
    run = read_run(write_run(tmp_path / "one", finished=False))
    assert isinstance(run, Run)
    assert run.state is RunState.CUT_SHORT
    assert run.verdict == make_passed()


@pytest.mark.parametrize(
    ("holder", "state"),
    [(str(os.getpid()), RunState.RUNNING), ("", RunState.CUT_SHORT), ("9" * 30, RunState.CUT_SHORT)],
    ids=["itself", "nobody", "nonsense"],
)
def test_the_lock_s_holder_tells_a_running_run_from_a_killed_one(tmp_path, write_run, holder, state):
    folder = write_run(tmp_path / "one", finished=False)
    (folder / LOCK).write_text(holder)
    run = read_run(folder)
    assert isinstance(run, Run)
    assert run.state is state


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"task_id": 3}',
        b"\xff\xfe\x00binary",
        b'{"type": "Outcome", "verdict": {"type": "Excellent"}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_verdict_is_a_broken_run(tmp_path, write_run, content):
    folder = write_run(tmp_path / "one")
    (folder / VERDICT).write_bytes(content)
    run = read_run(folder)
    assert isinstance(run, BrokenRun)
    assert VERDICT in run.reason


@pytest.mark.parametrize("content", [b"", b"{\n", b'{"type": "Said"}\n', b"\x00\xff\n" * 5])
def test_a_trajectory_without_its_start_is_a_broken_run(tmp_path, write_run, content):
    folder = write_run(tmp_path / "one")
    (folder / TRAJECTORY).write_bytes(content)
    assert isinstance(read_run(folder), BrokenRun)


def test_damaged_lines_are_counted_and_passed_over(tmp_path, write_run):
    folder = write_run(tmp_path / "one")
    with (folder / TRAJECTORY).open("ab") as file:
        file.write(b'{"type": "FromTheFuture"}\n\n[1]\n\xff\n{"type": "Said", "mess')
    summary = summarize(read_lines(folder))
    assert len(summary.turns) == 1
    assert summary.num_damaged_lines == 4


def test_a_line_without_end_does_not_fill_the_memory(tmp_path, write_run, monkeypatch):
    monkeypatch.setattr(runs, "MAX_LINE_CHARACTERS", 2000)
    folder = write_run(tmp_path / "one")
    with (folder / TRAJECTORY).open("a") as file:
        file.write("x" * 100_000 + "\n")
        file.write('{"at": "", "type": "Aborted", "reason": "disk"}\n')
    summary = summarize(read_lines(folder))
    assert summary.aborted == "disk"


def test_an_enormous_verdict_is_not_read(tmp_path, write_run, monkeypatch):
    monkeypatch.setattr(runs, "MAX_VERDICT_BYTES", 100)
    assert isinstance(read_run(write_run(tmp_path / "one")), BrokenRun)


def test_all_runs_of_a_folder_are_listed_and_nothing_else(tmp_path, write_run):
    write_run(tmp_path / "b")
    write_run(tmp_path / "a-ünïcode ✓")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / VERDICT).write_text("{")
    (tmp_path / "not-a-run").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    found = list_runs(tmp_path)
    assert [run.folder.name for run in found] == ["a-ünïcode ✓", "b", "c"]
    assert [type(run) for run in found] == [Run, Run, BrokenRun]
    assert list_runs(tmp_path / "b") == (read_run(tmp_path / "b"),)


def test_a_folder_is_no_verdict(tmp_path, write_run):
    folder = write_run(tmp_path / "one")
    (folder / VERDICT).unlink()
    (folder / VERDICT).mkdir()
    run = read_run(folder)
    assert isinstance(run, Run)
    assert run.outcome is None
