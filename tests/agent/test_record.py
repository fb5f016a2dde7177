"""The run folder: nothing is lost by a kill, a full disk or a second run."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from warpsmith.agent import (
    Aborted,
    Built,
    Busy,
    Finished,
    Improved,
    Judged,
    Outcome,
    Record,
    Said,
    Started,
    read_events,
)
from warpsmith.agent.runs.log import EventLog
from warpsmith.core import (
    Candidate,
    Cost,
    Crashed,
    EnvironmentMissing,
    InfraError,
    Message,
    Passed,
    Role,
    Solution,
    StopReason,
    UsageError,
)
from warpsmith.core.codec import from_json

STARTED = Started(
    task_id="twice",
    task_digest="d",
    provenance="test",
    scale=1.0,
    policy="scripted",
    device="cpu",
    environment={"torch": "2"},
    config={"budget": {"max_turns": 200}},
)


def solution(say, text="# 100\n", kernels=("a.cu",), microseconds=100.0):
    files = {"model_new.py": text, **{f"kernels/{name}": f"// {name}" for name in kernels}}
    verdict = Passed(accuracy=say.accuracy, timing=say.timing(microseconds))
    return Solution(candidate=Candidate.of(files), verdict=verdict)


def outcome(folder):
    return from_json(Outcome, (folder / "verdict.json").read_text())


def test_a_run_leaves_the_best_program_its_verdict_and_every_event(stage, say, record):
    record.on_event(STARTED)
    stage.heard = record
    trajectory = stage.run(
        (say.program("100"), say.call("compile"), say.call("profile")),
        (say.program("broken"), say.call("profile")),
    )
    folder = record.folder
    assert Candidate.from_folder(folder) == trajectory.best.candidate
    final = outcome(folder)
    assert final.verdict == trajectory.best.verdict
    assert final.candidate_digest == trajectory.best.candidate.digest
    assert (final.is_final, final.stop, final.num_turns) == (True, StopReason.FINISHED, 3)
    assert (final.task_digest, final.environment) == (stage.task.digest, {"torch": "2"})
    assert (folder / "task.py").read_text() == stage.task.source
    events = read_events(folder)
    assert events[0] == STARTED
    said = [event.message for event in events if isinstance(event, Said)]
    flat = [message for turn in trajectory.turns for message in (turn.reply, *turn.answers)]
    assert said[2:] == flat
    assert events[-1].best == trajectory.best
    logs = {path.name: path.read_text() for path in (folder / "logs").iterdir()}
    assert set(logs.values()) == {"ptxas info", "a.cu(3): error: identifier is undefined"}
    assert f"{trajectory.best.candidate.digest[:16]}.log" in logs


def test_the_best_program_is_there_as_soon_as_it_is_known(say, record):
    record.on_event(STARTED)
    first, second = solution(say, kernels=("a.cu", "b.cu")), solution(say, "# 80\n", ("c.cu",), 80.0)
    for best in (first, second):
        record.on_event(Improved(solution=best))
        assert Candidate.from_folder(record.folder) == best.candidate
        assert outcome(record.folder).candidate_digest == best.candidate.digest
        assert not outcome(record.folder).is_final
    assert not (record.folder / "kernels" / "a.cu").exists()
    assert not [path for path in record.folder.iterdir() if path.name in (".fresh", ".stale")]


def test_a_program_that_turned_out_wrong_is_not_left_as_the_best(say, record):
    record.on_event(STARTED)
    record.on_event(Improved(solution=solution(say)))
    record.on_event(Finished(stop=StopReason.FINISHED, cost=Cost(), num_turns=1, best=None))
    assert not (record.folder / "model_new.py").exists()
    assert outcome(record.folder).verdict is None
    assert any(isinstance(event, Improved) for event in read_events(record.folder)), "the record still has it"


def test_every_kind_of_event_is_read_back_as_it_was(say, record):
    told = (
        STARTED,
        Said(
            message=Message(role=Role.USER, text="lone \ud800 surrogate, ü, \0"), cost=Cost(usd=float("inf"))
        ),
        Judged(tool="verify", digest="ab" * 32, verdict=Crashed(stage="load", log="died")),
        Improved(solution=solution(say)),
        Aborted(reason="the disk is gone"),
        Finished(stop=StopReason.MONEY, cost=Cost(), num_turns=3, best=solution(say)),
    )
    for event in (*told, Busy(what="policy"), Built(digest="cd" * 32, log="fine")):
        record.on_event(event)
    assert read_events(record.folder) == told


def test_a_line_cut_short_by_a_kill_is_left_out(record):
    record.on_event(STARTED)
    path = record.folder / "trajectory.jsonl"
    with path.open("a") as file:
        file.write('{"at": "2026-01-01", "type": "Said", "mess')
    assert read_events(record.folder) == (STARTED,)
    with path.open("a") as file:
        file.write("\n" + path.read_text().split("\n")[0] + "\n")
    with pytest.raises(UsageError, match=r"trajectory\.jsonl, line 2"):
        read_events(record.folder)


def test_what_is_no_run_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match="holds no readable"):
        read_events(tmp_path)


def test_a_second_run_on_the_same_folder_is_told_who_holds_it(record, task):
    before = sorted(path.name for path in record.folder.iterdir())
    with pytest.raises(UsageError, match=f"process id {os.getpid()}; wait, stop it, or take another folder"):
        Record.create(record.folder, task)
    assert sorted(path.name for path in record.folder.iterdir()) == before


def test_a_folder_with_a_finished_run_is_not_reused(tmp_path, task):
    with Record.create(tmp_path / "run", task) as record:
        record.on_event(STARTED)
    before = sorted(path.name for path in record.folder.iterdir())
    with pytest.raises(UsageError, match=r"is not empty \(logs, task.py, trajectory.jsonl\)"):
        Record.create(record.folder, task)
    assert sorted(path.name for path in record.folder.iterdir()) == before


def test_a_folder_with_other_things_is_left_alone(tmp_path, task):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match=r"is not empty \(thesis.tex\)"):
        Record.create(tmp_path, task)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_an_empty_folder_is_taken(tmp_path, task):
    with Record.create(tmp_path, task) as record:
        assert record.folder == tmp_path


@pytest.mark.parametrize("folder", ["/proc/run", "/dev/null/run", "/sys/run"])
def test_a_folder_that_cannot_be_written_is_answered_in_one_line(folder, task):
    with pytest.raises(EnvironmentMissing, match=r"cannot be written .*; choose another folder") as raised:
        Record.create(Path(folder), task)
    assert "\n" not in str(raised.value)
    with pytest.raises(EnvironmentMissing, match="cannot be made"):
        Record.create_default(task, Path(folder))


def test_a_run_that_never_began_leaves_no_trace(tmp_path, task):
    with pytest.raises(UsageError, match="unusable"), Record.create(tmp_path / "run", task):
        raise UsageError("the reference is unusable")
    assert not (tmp_path / "run").exists()


def test_default_folders_are_numbered(tmp_path, task):
    names = []
    for _ in range(2):
        with Record.create_default(task, tmp_path / "runs") as record:
            record.on_event(STARTED)
            names.append(record.folder.name)
    assert [name[10:] for name in names] == ["-twice-1", "-twice-2"]


def test_a_full_disk_is_answered_in_one_line():
    log = EventLog(Path("/dev/full"))
    with pytest.raises(InfraError, match=r"No space left on device.*make room") as raised:
        log.append(STARTED)
    assert "\n" not in str(raised.value)
    log.close()


class FullDisk:
    """Takes some bytes and then none, as a disk does that fills up in the middle of a line."""

    def __init__(self, room):
        self.room = room

    def __call__(self, descriptor, body):
        taken = min(self.room, len(body))
        if not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.room -= taken
        return os.write(descriptor, body[:taken])


@pytest.mark.parametrize("room", [0, 1, 50, 200])
def test_half_a_line_is_taken_back_when_the_disk_is_full(tmp_path, room):
    path = tmp_path / "trajectory.jsonl"
    EventLog(path).append(STARTED)
    before = path.read_bytes()
    full = FullDisk(room)
    log = EventLog(path, full)
    with pytest.raises(InfraError, match=r"No space left on device.*what was written before is kept"):
        log.append(STARTED)
    assert path.read_bytes() == before
    full.room = 10**6
    log.append(Aborted(reason="no room"))
    assert read_events(tmp_path) == (STARTED, Aborted(reason="no room"))


def test_a_disk_that_fills_up_loses_nothing_written_before(stage, say, record):
    record.on_event(STARTED)
    stage.heard = record
    stage.run((say.program("100"), say.call("profile")))
    before = (record.folder / "trajectory.jsonl").stat().st_size
    verdict = (record.folder / "verdict.json").read_text()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        for event in (Improved(solution=solution(say, "# 50\n")), Built(digest="ab" * 32, log="x" * 100)):
            with pytest.raises(InfraError, match="cannot be written"):
                record.on_event(event)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert (record.folder / "trajectory.jsonl").stat().st_size == before
    assert (record.folder / "verdict.json").read_text() == verdict
    assert Candidate.from_folder(record.folder).text("model_new.py").startswith("# 100\n")
    assert read_events(record.folder)


def test_a_failure_of_ours_keeps_the_best_in_the_folder(stage, say, record):
    record.on_event(STARTED)
    stage.heard = record
    stage.judge.script = [None, say.infra_error, say.infra_error]
    with pytest.raises(InfraError):
        stage.run((say.program("100"), say.call("profile")), (say.program("80"), say.call("profile")))
    assert Candidate.from_folder(record.folder).text("model_new.py").startswith("# 100\n")
    assert read_events(record.folder)[-1] == Aborted(reason="the driver is gone")


KILLED = """
import sys, time
from pathlib import Path
sys.path[:0] = {path!r}
from tests.agent import conftest
from warpsmith.agent import Record, Started
stage = conftest.Stage(Path({folder!r}) / "stage")
with Record.create(Path({folder!r}) / "run", stage.task) as record:
    started = dict(task_id="t", task_digest="d", provenance="t", scale=1.0, policy="p", device="cpu")
    record.on_event(Started(**started))
    stage.heard = record
    stage.judge.script = [None, lambda: (print("ready", flush=True), time.sleep(60))]
    turns = [(conftest.program(word), conftest.call("profile")) for word in ("100", "80")]
    stage.run(*turns)
"""


def test_a_killed_run_leaves_a_readable_trajectory_and_frees_its_folder(tmp_path, task):
    root = str(Path(__file__).parents[2])
    program = KILLED.format(path=[root], folder=str(tmp_path))
    (tmp_path / "stage").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    folder = tmp_path / "run"
    with pytest.raises(UsageError, match=f"process id {process.pid};"):
        Record.create(folder, task)
    process.kill()
    process.wait()
    process.stdout.close()
    events = read_events(folder)
    assert isinstance(events[-1], Said), "up to the reply whose tool was running"
    best = [event for event in events if isinstance(event, Improved)][-1].solution
    assert Candidate.from_folder(folder) == best.candidate
    assert outcome(folder).verdict == best.verdict
    with pytest.raises(UsageError, match="is not empty"):  # free, yet not to be overwritten
        Record.create(folder, task)


def test_a_message_is_recorded_once_however_long_the_run(stage, say, record):
    record.on_event(STARTED)
    stage.heard = record
    stage.run(*[(say.call("bash", command=f"echo {number}"),) for number in range(20)])
    lines = (record.folder / "trajectory.jsonl").read_text().splitlines()
    assert len(lines) == 1 + 2 + 20 * 3 + 2 + 1
    assert all(json.loads(line)["at"].startswith("20") for line in lines)
