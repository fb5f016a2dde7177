"""Run folders read back, however broken."""

import io
import json
import os

import pytest
from rich.console import Console

from warpsmith.agent.events import Aborted, Forked, Resumed, Said
from warpsmith.agent.runs.ledger import summary_lines
from warpsmith.agent.runs.log import EventLog
from warpsmith.agent.runs.record import LOCK, TRAJECTORY, VERDICT
from warpsmith.core import Cost, Message, Role
from warpsmith.core.codec import to_json
from warpsmith.report import runs
from warpsmith.report.diff import diff_runs
from warpsmith.report.runs import BrokenRun, Run, RunState, read_lines, read_run, run_folders
from warpsmith.report.sides import side_by_side
from warpsmith.report.spending import ledger_rows
from warpsmith.report.terminal import turns_table
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
    [
        (str(os.getpid()), RunState.RUNNING),
        ("", RunState.CUT_SHORT),
        ("9" * 30, RunState.CUT_SHORT),
        ("0", RunState.CUT_SHORT),
        ("-1", RunState.CUT_SHORT),
        ("\0" * 100_000, RunState.CUT_SHORT),
    ],
    ids=["itself", "nobody", "nonsense", "its group", "everybody", "a flood"],
)
def test_the_lock_s_holder_tells_a_running_run_from_a_killed_one(tmp_path, write_run, holder, state):
    folder = write_run(tmp_path / "one", finished=False)
    (folder / LOCK).write_text(holder)
    run = read_run(folder)
    assert isinstance(run, Run)
    assert run.state is state


def test_a_finished_run_that_someone_holds_again_is_running(tmp_path, write_run):
    folder = write_run(tmp_path / "one")
    (folder / LOCK).write_text(str(os.getpid()))
    assert read_run(folder).state is RunState.RUNNING


def test_a_lock_that_is_a_pipe_is_not_waited_for(tmp_path, write_run):
    folder = write_run(tmp_path / "one", finished=False)
    os.mkfifo(folder / LOCK)
    assert read_run(folder).state is RunState.CUT_SHORT


def append(folder, *events):
    log = EventLog(folder / TRAJECTORY)
    for event in events:
        log.append(event)
    log.close()


def said(text):
    return Said(message=Message(role=Role.ASSISTANT, text=text), cost=Cost(wall_s=1.0))


def test_a_turn_that_was_done_anew_is_there_once(tmp_path, write_run):
    folder = write_run(tmp_path / "one", finished=False)
    append(folder, said("lost"), Aborted(reason="disk"))
    assert summarize(read_lines(folder)).aborted == "disk"
    append(folder, Resumed(turn=1, lost=Cost(usd=2.0)), said("anew"))
    summary = summarize(read_lines(folder))
    assert [turn.said for turn in summary.turns] == ["I begin simply.", "anew"]
    assert (summary.num_resumed, summary.aborted) == (1, None)


def test_a_run_begun_again_has_the_turns_since_then(tmp_path, write_run):
    folder = write_run(tmp_path / "one", finished=False)
    append(folder, Resumed(turn=0, lost=Cost()), said("anew"))
    assert [turn.said for turn in summarize(read_lines(folder)).turns] == ["anew"]


def test_a_fork_names_its_parent(tmp_path, write_run):
    folder = write_run(tmp_path / "one")
    assert read_run(folder).forked is None
    path = folder / TRAJECTORY
    first, *rest = path.read_text().splitlines(keepends=True)
    forked = f'{{"at": "", {to_json(Forked(parent="/runs/zero", turn=3))[1:]}\n'
    path.write_text("".join((first, forked, *rest)))
    assert read_run(folder).forked == Forked(parent="/runs/zero", turn=3)


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


@pytest.mark.parametrize("name", ["candidate", "eager", "compile"])
def test_a_time_without_a_sample_is_damage(tmp_path, write_run, name):
    folder = write_run(tmp_path / "one")
    data = json.loads((folder / VERDICT).read_text())
    data["verdict"]["timing"][name]["samples_us"] = []
    (folder / VERDICT).write_text(json.dumps(data))
    assert isinstance(read_run(folder), BrokenRun)


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
    found = [read_run(folder) for folder in run_folders(tmp_path)]
    assert [run.folder.name for run in found] == ["a-ünïcode ✓", "b", "c"]
    assert [type(run) for run in found] == [Run, Run, BrokenRun]


def test_a_folder_is_no_verdict(tmp_path, write_run):
    folder = write_run(tmp_path / "one")
    (folder / VERDICT).unlink()
    (folder / VERDICT).mkdir()
    run = read_run(folder)
    assert isinstance(run, Run)
    assert run.outcome is None


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("Said", '"message": {"role": "assistant", "text": ""}, "cost": {"wall_s": NaN}'),
        ("Said", '"message": {"role": "assistant", "text": ""}, "cost": {"usd": 1e999, "gpu_s": -1e999}'),
        ("Said", '"message": {"role": "assistant", "text": ""}, "cost": {"prompt_tokens": 1e999}'),
        ("TurnEnded", '"number": 1e999, "cost": {}'),
        ("TurnEnded", '"number": 3, "cost": {"wall_s": "inf"}'),
        ("Resumed", '"turn": -7, "lost": {"wall_s": NaN}'),
        ("Resumed", '"turn": 99, "lost": {}'),
        ("Forked", '"parent": "x", "turn": -3'),
        ("Judged", '"tool": "final", "digest": "", "verdict": null, "cost": {"wall_s": Infinity}'),
    ],
)
def test_figures_that_are_none_do_not_keep_a_run_from_being_shown(tmp_path, write_run, kind, fields):
    folder = write_run(tmp_path / "one", finished=False)
    path = folder / TRAJECTORY
    line = f'{{"type": "{kind}", {fields}}}'
    first, *rest = path.read_text().splitlines(keepends=True)
    path.write_text("".join((first, f"{line}\n", *rest, f"{line}\n")))
    console = Console(file=io.StringIO())
    console.print(turns_table(summarize(read_lines(folder)).turns))
    console.print(*summary_lines(ledger_rows(read_lines(folder))))
    for part in side_by_side(diff_runs(folder, folder)):
        console.print(part)
