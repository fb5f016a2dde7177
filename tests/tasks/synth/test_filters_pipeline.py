"""The filter's own side, with a helper that answers as it is told to: nothing of torch runs here."""

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from warpsmith.core import Command, Completed, Ending, InfraError, Task, UsageError
from warpsmith.core.audit import Finding, Kind, Severity
from warpsmith.core.codec import from_json, to_json
from warpsmith.device import select_device
from warpsmith.device.lease import Held
from warpsmith.tasks.synth.filters import (
    Band,
    Checks,
    Decided,
    Facts,
    FilterConfig,
    Funnel,
    Kept,
    Reason,
    Rejected,
    Resumed,
    SetAside,
    Stage,
    Undecided,
    facts_as_text,
    filtered,
)
from warpsmith.tasks.synth.filters.control import CONTROL
from warpsmith.tasks.synth.filters.desk import Desk
from warpsmith.tasks.synth.filters.protocol import (
    Agree,
    Agreed,
    Answer,
    Call,
    Clock,
    Clocked,
    Compile,
    Failed,
    Fine,
    Greet,
    Greeted,
    Inspect,
    Inspected,
    Look,
    Ran,
    Refused,
    Repeat,
    Run,
    Tell,
    Told,
)
from warpsmith.tasks.synth.filters.state import NAME
from warpsmith.tasks.synth.filters.workers import side_by_side

RAN = Ran(
    inputs=("float32[8]",),
    outputs=("float32[8]",),
    modelled_us=2e3,
    num_launches=1,
    memory_bytes=1 << 20,
    is_memory_modelled=True,
    look_bytes=3 << 20,
)
GOOD = {
    Greet: Greeted(),
    Run: RAN,
    Look: Fine(),
    Repeat: Fine(),
    Tell: Told(times_allowed=50.0),
    Inspect: Inspected(findings=(), skipped=()),
    Compile: Fine(),
    Agree: Agreed(error=1e-7, allowed=1e-6, num_graph_breaks=0),
    Clock: Clocked(samples_us=(2000.0, 2100.0, 9000.0)),
}
DEFINES = "Model = get_inputs = get_init_inputs = None"


def ended(ending: Ending = Ending.EXITED, exit_code: int = 0, **said: str) -> Completed:
    streams = {"stdout": "", "stderr": ""} | said
    return Completed(ending=ending, exit_code=exit_code, wall_s=0.0, **streams)


KILLED = ended(Ending.SIGNALLED, -9)


class ScriptedSandbox:
    """Each visit gets the next script of its task, the last one for ever; a script is GOOD with changes."""

    name, covers, not_covered, warning = "scripted", (), (), None

    def __init__(self, scripts: dict[str, list[dict]] | None = None, pace_s: float = 0.0) -> None:
        self._scripts = scripts or {}
        self.visits: Counter[str] = Counter()
        self.asked: list[tuple[str, str]] = []
        self.pace_s = pace_s

    def start(self, command: Command) -> "ScriptedGuest":
        return ScriptedGuest(self)

    def script(self, task_id: str) -> dict:
        scripts = self._scripts.get(task_id, [{}])
        self.visits[task_id] += 1
        return GOOD | scripts[min(self.visits[task_id], len(scripts)) - 1]


class ScriptedGuest:
    def __init__(self, sandbox: ScriptedSandbox) -> None:
        self._sandbox = sandbox
        self._script = GOOD

    def ask(self, request: bytes, *, limit_s: float, is_timed: bool = False) -> bytes | Completed:
        call = from_json(Call, request.decode())
        if isinstance(call.request, Run):
            source = call.request.source.read_text()
            self._task_id = "control" if source == CONTROL.source else source.split("#")[-1]
            self._script = self._sandbox.script(self._task_id)
            time.sleep(self._sandbox.pace_s)
        reply = self._script[type(call.request)]
        self._sandbox.asked.append((getattr(self, "_task_id", ""), type(call.request).__name__))
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Completed | bytes):
            return reply
        return to_json(Answer(nonce=call.nonce, answer=reply)).encode()

    def close(self) -> Completed:
        return self._script.get("close", ended())


CPU = select_device("cpu")
GPU = replace(CPU, kind="cuda", uuid="GPU-of-a-test", name="a GPU of a test")


def task_of(task_id: str) -> Task:
    return Task(task_id=task_id, source=f"{DEFINES}#{task_id}", provenance="tests")


def config_of(scripts=None, *, device=CPU, workers=2, pace_s=0.0, **checks) -> FilterConfig:
    return FilterConfig(
        device=device, sandbox=ScriptedSandbox(scripts, pace_s), workers=workers, checks=Checks(**checks)
    )


@pytest.fixture(autouse=True)
def leases(monkeypatch):
    """No lock of this machine's is taken for a GPU that there is not."""
    monkeypatch.setattr("warpsmith.tasks.synth.filters.desk.FileLeases", LoggingLeases)


def run(scripts, folder, *, names=("a",), **options):
    events = []
    config = config_of(scripts, **options)
    funnel = filtered([task_of(name) for name in names], config, folder, events.append)
    return funnel, events, config.sandbox


def outcome_of(script, folder, **options):
    return run({"a": [script]}, folder, **options)[0].outcomes[0]


def test_a_task_that_passes_every_stage_is_kept(tmp_path):
    outcome = outcome_of({}, tmp_path)
    assert isinstance(outcome, Kept)
    assert outcome.facts.eager_us == 2e3
    assert outcome.facts.is_time_modelled
    assert list(outcome.facts.stage_s) == [s.value for s in Stage if s not in (Stage.READ, Stage.TIME)]


def test_on_a_gpu_the_measured_time_counts(tmp_path):
    facts = outcome_of({}, tmp_path, device=GPU).facts
    assert (facts.eager_us, facts.is_time_modelled) == (2100.0, False)


@pytest.mark.parametrize(
    ("script", "stage", "reason"),
    [
        ({Run: replace(RAN, modelled_us=999.0)}, Stage.RUN, Reason.TOO_FAST),
        ({Run: replace(RAN, modelled_us=1e5 + 1)}, Stage.RUN, Reason.TOO_SLOW),
        ({Run: replace(RAN, memory_bytes=34 << 30)}, Stage.RUN, Reason.TOO_LARGE),
        ({Tell: Refused(reason=Reason.CONSTANT, evidence="so")}, Stage.TELL, Reason.CONSTANT),
        ({Compile: ended(Ending.TIMED_OUT)}, Stage.COMPILE, Reason.HANGS),
        ({Inspect: ended(Ending.OUT_OF_MEMORY)}, Stage.AUDIT, Reason.TOO_LARGE),
        ({Agree: ended(exit_code=3)}, Stage.AGREE, Reason.CRASHES),
        ({Agree: b"no answer"}, Stage.AGREE, Reason.CRASHES),
        ({Agree: b'{"nonce": "another", "answer": {"type": "Fine"}}'}, Stage.AGREE, Reason.CRASHES),
        ({"close": ended(stdout="x" * ((1 << 16) + 1))}, Stage.RUN, Reason.FLOODS),
    ],
)
def test_a_rejection_names_its_stage_and_reason(script, stage, reason, tmp_path):
    outcome = outcome_of(script, tmp_path)
    assert isinstance(outcome, Rejected)
    assert (outcome.stage, outcome.reason) == (stage, reason)
    assert outcome.evidence


@pytest.mark.parametrize(("samples_us", "reason"), [((900.0,), Reason.TOO_FAST), ((2e5,), Reason.TOO_SLOW)])
def test_on_a_gpu_the_band_holds_for_what_was_measured(samples_us, reason, tmp_path):
    outcome = outcome_of({Clock: Clocked(samples_us=samples_us)}, tmp_path, device=GPU)
    assert (outcome.stage, outcome.reason) == (Stage.TIME, reason)


def test_on_a_gpu_a_modelled_time_rejects_only_what_is_far_too_slow(tmp_path):
    near, far = replace(RAN, modelled_us=2e5), replace(RAN, modelled_us=5e5)
    scripts = {"near": [{Run: near}], "far": [{Run: far}], "fast": [{Run: replace(RAN, modelled_us=1.0)}]}
    funnel, _, sandbox = run(scripts, tmp_path, names=tuple(scripts), device=GPU)
    assert [type(outcome) for outcome in funnel.outcomes] == [Kept, Rejected, Kept]
    assert ("far", "Compile") not in sandbox.asked


def test_what_only_a_crowd_can_explain_is_looked_at_again(tmp_path):
    crowded = {Agree: Refused(reason=Reason.TOO_LARGE, evidence="CUDA out of memory")}
    funnel, events, _ = run({"a": [crowded, {}]}, tmp_path, names=("a", "b"), device=GPU)
    assert len(funnel.kept) == 2
    assert [event.task_id for event in events if isinstance(event, SetAside)] == ["a"]


def test_a_task_that_runs_out_of_memory_alone_is_rejected(tmp_path):
    crowded = {Agree: Refused(reason=Reason.TOO_LARGE, evidence="CUDA out of memory")}
    funnel, _, sandbox = run({"a": [crowded]}, tmp_path, names=("a", "b"), device=GPU)
    assert funnel.by_reason == {Reason.TOO_LARGE: 1}
    assert sandbox.visits["a"] == 2


@pytest.mark.parametrize("failure", [InfraError("no room"), Failed(why="a bug of ours"), KILLED])
def test_a_failure_that_may_be_ours_is_forgiven_once(failure, tmp_path):
    funnel, _, sandbox = run({"a": [{Repeat: failure}, {}]}, tmp_path, names=("a", "b"))
    assert len(funnel.kept) == 2
    assert sandbox.visits["a"] == 2


def test_a_task_that_kills_its_process_twice_is_rejected(tmp_path):
    funnel, _, _ = run({"a": [{Repeat: KILLED}]}, tmp_path, names=("a", "b"))
    assert funnel.by_reason == {Reason.CRASHES: 1}


def test_a_task_that_breaks_our_probes_twice_is_rejected(tmp_path):
    funnel, _, sandbox = run({"a": [{Inspect: Failed(why="cannot be copied")}]}, tmp_path)
    assert funnel.by_reason == {Reason.UNEXAMINABLE: 1}
    assert sandbox.visits["control"] == 2  # before, and so that it is not this machine


def test_a_gpu_that_fails_on_everything_rejects_nothing(tmp_path):
    broken = {Run: Refused(reason=Reason.FORWARD_RAISES, evidence="CUDA error: unspecified launch failure")}
    with pytest.raises(InfraError, match="known to be good"):
        run({"a": [broken], "control": [{}, broken]}, tmp_path, device=GPU)
    assert (tmp_path / NAME).read_text().count("\n") == 1


def test_a_task_that_we_fail_on_twice_is_undecided_and_tried_again(tmp_path):
    scripts = {"a": [{Repeat: InfraError("ours")}] * 2 + [{}]}
    config = config_of(scripts)
    first = filtered([task_of("a")], config, tmp_path)
    assert [outcome.why for outcome in first.undecided] == ["ours"]
    second = filtered([task_of("a")], config, tmp_path)
    assert len(second.kept) == 1
    assert second.num_resumed == 0


def test_a_filter_that_rejects_what_is_good_does_not_begin(tmp_path):
    refused = {Compile: Refused(reason=Reason.NOT_COMPILED, evidence="no compiler")}
    with pytest.raises(InfraError, match=r"known to be good: torch\.compile fails"):
        run({"control": [refused]}, tmp_path)
    assert len((tmp_path / NAME).read_text().splitlines()) == 1


def test_a_machine_that_breaks_on_the_way_ends_the_run(tmp_path):
    scripts = {"a": [{Repeat: InfraError("gone")}], "control": [{}, {Repeat: InfraError("gone")}]}
    with pytest.raises(InfraError, match="the filter cannot run here: gone"):
        run(scripts, tmp_path)


def test_every_outcome_is_on_the_disk_when_it_is_told(tmp_path):
    known = []

    def on_event(event):
        if isinstance(event, Decided):
            known.append((tmp_path / NAME).read_text().count("\n") - 1 == event.num_done)

    filtered([task_of(name) for name in "abc"], config_of(), tmp_path, on_event)
    assert known == [True] * 3


def test_a_second_run_decides_nothing_again(tmp_path):
    scripts = {"b": [{Tell: Refused(reason=Reason.CONSTANT, evidence="so")}]}
    first, _, _ = run(scripts, tmp_path, names="abc")
    second, events, sandbox = run(scripts, tmp_path, names="abc")
    assert events == [Resumed(num_known=3)]
    assert not sandbox.visits
    assert second.outcomes == first.outcomes
    assert second.num_resumed == 3


def test_a_task_with_another_text_is_looked_at_anew(tmp_path):
    run({}, tmp_path)
    changed = replace(task_of("a"), source=task_of("a").source.replace("#", " # #"))
    assert filtered([changed], config_of(), tmp_path).num_resumed == 0


def test_a_task_that_comes_twice_is_counted_once(tmp_path):
    funnel, _, sandbox = run({}, tmp_path, names="aba")
    assert len(funnel.outcomes) == 2
    assert funnel.num_repeated == 1
    assert sandbox.visits["a"] == 1


def test_no_tasks_are_an_empty_funnel(tmp_path):
    funnel, events, sandbox = run({}, tmp_path, names=())
    assert (funnel.outcomes, events, sandbox.visits) == ((), [], {})


def test_what_a_kill_left_of_a_line_is_cut_off(tmp_path):
    first, _, _ = run({}, tmp_path, names="abc")
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:-20])
    second, _, sandbox = run({}, tmp_path, names="abc")
    assert sum(sandbox.visits.values()) - sandbox.visits["control"] == 1
    assert [type(outcome) for outcome in second.outcomes] == [type(outcome) for outcome in first.outcomes]
    assert all(json.loads(line) for line in path.read_text().splitlines())


@pytest.mark.parametrize(
    "damage", ["{}", "no JSON", '{"type": "Other"}', '{"type": "Kept"}', "[]", "\x00" * 9]
)
def test_a_damaged_line_is_named(damage, tmp_path):
    run({}, tmp_path)
    path = tmp_path / NAME
    path.write_text(f"{path.read_text()}{damage}\n")
    with pytest.raises(UsageError, match="line 3 is damaged"):
        run({}, tmp_path)


def test_a_state_without_a_header_is_refused(tmp_path):
    run({}, tmp_path)
    path = tmp_path / NAME
    path.write_text(path.read_text().splitlines()[1] + "\n")
    with pytest.raises(UsageError, match="it has no header"):
        run({}, tmp_path)


def test_other_checks_need_another_folder(tmp_path):
    run({}, tmp_path)
    with pytest.raises(UsageError, match="begun with other checks"):
        run({}, tmp_path, band=Band(least_us=1.0, most_us=2.0))


def test_other_workers_may_go_on(tmp_path):
    run({}, tmp_path)
    assert run({}, tmp_path, workers=7)[0].num_resumed == 1


def test_a_state_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be made"):
        run({}, tmp_path / "file" / "below")


def test_a_second_filter_on_a_folder_is_told_who_holds_it(tmp_path):
    config = config_of()

    def on_event(event):
        with pytest.raises(UsageError, match=f"being written by process {os.getpid()} on "):
            filtered([task_of("b")], config, tmp_path)

    assert len(filtered([task_of("a")], config, tmp_path, on_event).kept) == 1


def test_an_event_handler_that_raises_ends_the_run_and_loses_nothing(tmp_path):
    def on_event(event):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        filtered([task_of(name) for name in "abc"], config_of(), tmp_path, on_event)
    assert run({}, tmp_path, names="abc")[0].num_resumed == 1


class WatchedSandbox(ScriptedSandbox):
    """Knows how many of its guests have been looked at and are not closed."""

    def __init__(self, scripts):
        super().__init__(scripts)
        self.lock = threading.Lock()
        self.num_looking = self.most_looking = 0

    def start(self, command):
        return WatchedGuest(self)


class WatchedGuest(ScriptedGuest):
    is_looking = False

    def ask(self, request, **options):
        if isinstance(from_json(Call, request.decode()).request, Look):
            with self._sandbox.lock:
                self.is_looking = True
                self._sandbox.num_looking += 1
                self._sandbox.most_looking = max(self._sandbox.most_looking, self._sandbox.num_looking)
            time.sleep(0.02)
        return super().ask(request, **options)

    def close(self):
        with self._sandbox.lock:
            self._sandbox.num_looking -= self.is_looking
        return super().close()


LARGE_GPU = replace(GPU, memory_bytes=124 << 30)  # of which 80.6 GiB are for looking


@pytest.mark.parametrize(("look_bytes", "most"), [(90 << 30, 1), (41 << 30, 1), (21 << 30, 3)])
def test_no_more_tasks_are_looked_at_than_the_gpu_holds(look_bytes, most, tmp_path):
    names = [f"t{number}" for number in range(12)]
    sandbox = WatchedSandbox({name: [{Run: replace(RAN, look_bytes=look_bytes)}] for name in names})
    config = FilterConfig(device=LARGE_GPU, sandbox=sandbox, workers=8)
    assert len(filtered([task_of(name) for name in names], config, tmp_path).kept) == 12
    assert sandbox.most_looking == most


def test_a_visit_that_fails_gives_its_memory_back(tmp_path):
    """Else the next would wait for ever."""
    large = replace(RAN, look_bytes=100 << 30)
    failures = [{Run: large} | {stage: InfraError("gone")} for stage in (Look, Tell)]
    scripts = {name: [*failures, {Run: large}] for name in "ab"}
    config = replace(config_of(scripts), device=LARGE_GPU)
    first, second = (filtered([task_of(name) for name in "ab"], config, tmp_path) for _ in range(2))
    assert len(first.undecided) == 2
    assert len(second.kept) == 2


def test_a_worker_that_raises_ends_the_run(tmp_path):
    def look(item):
        if item == 2:
            raise ZeroDivisionError
        return item

    with pytest.raises(ZeroDivisionError):
        list(side_by_side([1, 2, 3], look, 2))


CHILD = """
import sys
sys.path.insert(0, {folder!r})
import importlib.util
spec = importlib.util.spec_from_file_location("tests_of_pipeline", {file!r})
tests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tests)
tests.filtered(tests.MANY, tests.config_of(tests.SCRIPTS, pace_s=0.05), tests.Path(sys.argv[1]))
"""
MANY = [task_of(f"t{number}") for number in range(60)]
SCRIPTS = {
    f"t{number}": [{Tell: Refused(reason=Reason.CONSTANT, evidence="so")}] for number in range(0, 60, 3)
}


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    code = CHILD.format(folder=str(Path(__file__).parent), file=__file__)
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "killed")])
    path = tmp_path / "killed" / NAME
    until = time.monotonic() + 60
    while time.monotonic() < until and not (path.exists() and path.read_bytes().count(b"\n") > 10):
        time.sleep(0.01)
    child.kill()
    child.wait()
    num_known = path.read_bytes().count(b"\n") - 1
    assert 10 <= num_known < len(MANY)
    resumed = filtered(MANY, config_of(SCRIPTS), tmp_path / "killed")
    whole = filtered(MANY, config_of(SCRIPTS), tmp_path / "whole")
    assert resumed.num_resumed == num_known
    assert resumed.by_reason == whole.by_reason == {Reason.CONSTANT: 20}
    assert [o.digest for o in resumed.kept] == [o.digest for o in whole.kept]


class LoggingLeases:
    """Leases that are always free, and what was done with them."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def acquire(self, uuid: str, *, is_exclusive: bool) -> Held:
        self.log.append("alone" if is_exclusive else "shared")
        return Held(uuid=uuid, is_exclusive=is_exclusive, token=None)

    def release(self, held: Held) -> None:
        self.log.append("release")


def test_several_time_in_one_lease_and_one_at_a_time():
    leases = LoggingLeases()
    desk = Desk(GPU, batch=3, leases=leases)
    inside, most = [], []

    def look(item):
        with desk.alone():
            inside.append(item)
            most.append(len(inside))
            time.sleep(0.01)
            inside.remove(item)
        return item

    assert len(list(side_by_side([1, 2, 3], look, 3))) == 3
    assert max(most) == 1
    assert leases.log == ["alone", "release"]


def test_a_timing_that_fails_gives_the_gpu_back():
    leases = LoggingLeases()
    desk = Desk(GPU, batch=1, leases=leases)
    with pytest.raises(ZeroDivisionError), desk.alone():
        raise ZeroDivisionError
    with desk.among_others():
        pass
    assert leases.log == ["alone", "release", "shared", "release"]


def test_a_gpu_that_cannot_be_had_blocks_nobody(monkeypatch):
    class Refusing(LoggingLeases):
        def acquire(self, uuid: str, *, is_exclusive: bool) -> Held:
            raise InfraError("in quarantine")

    desk = Desk(GPU, batch=1, leases=Refusing())
    for _ in range(2):
        with pytest.raises(InfraError), desk.alone():
            pass


def test_the_cpu_device_waits_for_nobody():
    leases = LoggingLeases()
    desk = Desk(CPU, batch=9, leases=leases)
    with desk.alone(), desk.among_others():
        assert leases.log == []


def test_the_gpu_is_shared_while_tasks_run_and_free_while_they_compile(tmp_path, monkeypatch):
    log = []

    class Logging(LoggingLeases):
        def acquire(self, uuid: str, *, is_exclusive: bool) -> Held:
            log.append("alone" if is_exclusive else "shared")
            return super().acquire(uuid, is_exclusive=is_exclusive)

    monkeypatch.setattr("warpsmith.tasks.synth.filters.desk.FileLeases", Logging)
    outcome_of({}, tmp_path, device=GPU, workers=1)
    assert log == [*["shared"] * 6, "alone"] * 2  # the control's visit, and then the task's


def finding(kind: Kind) -> Finding:
    return Finding(kind=kind, severity=Severity.SUSPICIOUS, subject="x", evidence="y", repair="z")


def funnel() -> Funnel:
    facts = Facts(eager_us=1.5, stage_s={"run": 1.0}, findings=(finding(Kind.DEAD_INPUT),) * 2)
    rejected = Rejected(
        task_id="b", digest="2", stage=Stage.RUN, reason=Reason.RANDOM, evidence="e", facts=facts
    )
    return Funnel(
        outcomes=(
            Kept(task_id="a", digest="1", facts=facts),
            rejected,
            replace(rejected, task_id="c", stage=Stage.TELL, reason=Reason.CONSTANT),
            replace(rejected, task_id="d"),
            Undecided(task_id="e", digest="5", why="ours"),
        )
    )


def test_a_funnel_counts_by_reason_stage_and_suspicion():
    assert list(funnel().by_reason.items()) == [(Reason.RANDOM, 2), (Reason.CONSTANT, 1)]
    remaining = funnel().remaining
    assert (remaining[Stage.READ], remaining[Stage.RUN], remaining[Stage.TELL]) == (4, 2, 1)
    assert remaining[Stage.TIME] == len(funnel().kept) == 1
    assert funnel().by_suspicion == {"dead input": 1}
    assert funnel().stage_s == {"run": 4.0}


def test_facts_as_text_say_whether_a_time_was_measured():
    facts = funnel().kept[0].facts
    assert facts_as_text(facts) == {"eager_us_modelled": "1.5", "suspicious": "dead input"}
    assert "eager_us_measured" in facts_as_text(replace(facts, is_time_modelled=False))


def test_outcomes_survive_their_file_also_where_numbers_are_not_finite(tmp_path):
    script = {Tell: Told(times_allowed=float("inf"))}
    first = outcome_of(script, tmp_path)
    assert run({"a": [script]}, tmp_path)[0].outcomes[0] == first
    assert first.facts.told_apart == float("inf")


def test_threads_are_gone_when_a_run_is_over(tmp_path):
    run({}, tmp_path, names="abcd", workers=4)
    until = time.monotonic() + 10
    while time.monotonic() < until and any("warpsmith-filter" in t.name for t in threading.enumerate()):
        time.sleep(0.01)
    assert not [t.name for t in threading.enumerate() if "warpsmith-filter" in t.name]


def test_no_probe_of_the_judges_audit_is_left_out():
    from warpsmith.judge.oracle import probes
    from warpsmith.tasks.synth.filters import audit, conduct

    rooms = ("ablation", "conduct", "sensitivity", "telling", "flow")
    wanted = {
        name
        for name, value in vars(probes).items()
        if callable(value) and value.__module__.removeprefix("warpsmith.judge.oracle.") in rooms
    } - {"Trace"}
    assert wanted <= vars(audit).keys() | vars(conduct).keys()
