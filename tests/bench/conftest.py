"""Records made by hand, and benches whose workers are stand-ins."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from warpsmith.agent import Budget
from warpsmith.agent.runs.spec import RunSpec
from warpsmith.bench.plan import FORMAT, Plan
from warpsmith.bench.record import Fate, TaskRecord, Told
from warpsmith.bench.run import Wish, order_of, run_bench
from warpsmith.bench.suite import Choice, Mode, Name, Source, chosen
from warpsmith.cli.app import run
from warpsmith.core import Accuracy, Cost, Passed, Provenance, Ratio, Series, Task, Timing, Wrong
from warpsmith.core.audit import Finding, Kind, Severity, TaskAudit
from warpsmith.device import select_device

WORKER = Path(__file__).with_name("fake_worker.py")
SOURCE = """FATE = "{fate}"
class Model: ...
def get_inputs(): return []
def get_init_inputs(): return []
"""
WRONG = Wrong(what="values", message="output 0 at [3]: 2.0, expected 4.0")


def ratio(centre, spread=0.02):
    return Ratio(centre=centre, low=centre - spread, high=centre + spread)


def timing(*, eager=2.0, compiled=1.5, spread=0.02, floor=0.5, measured=True, trouble=""):
    """Against a candidate of 100 µs: ratios as given, a floor as a share of its time."""
    return Timing(
        provenance=Provenance.MEASURED if measured else Provenance.MODELLED,
        gpu="NVIDIA H200",
        candidate=Series(name="candidate", samples_us=(100.0,)),
        eager=Series(name="eager", samples_us=(100.0 * eager,)),
        compile=None if compiled is None else Series(name="compile", samples_us=(100.0 * compiled,)),
        against_eager=ratio(eager, spread),
        against_compile=None if compiled is None else ratio(compiled, spread),
        floor_us=100.0 * floor,
        trouble=trouble,
    )


def passed(**kwargs):
    accuracy = Accuracy(error=1e-7, reference_error=1e-7, allowed=1e-6)
    return Passed(accuracy=accuracy, timing=timing(**kwargs))


def audit(*severities):
    findings = tuple(
        Finding(kind=Kind.ZEROS, severity=severity, subject="the output", evidence="0", repair="-")
        for severity in severities
    )
    return TaskAudit(
        task_id="t", digest="d", scale=1.0, inputs=(), findings=findings, num_forwards=1, wall_s=0.0
    )


class Made:
    """How tests make records: `made.record(1, 7, made.passed(eager=2.0))`."""

    passed, audit, timing = staticmethod(passed), staticmethod(audit), staticmethod(timing)
    wrong = WRONG
    degenerate = audit(Severity.DEGENERATE)

    @staticmethod
    def name(level, problem, digest=""):
        return Name(
            key=f"level{level}-{problem:03d}",
            group=f"level {level}",
            task_id=f"{problem}_task",
            digest=digest or f"{level}/{problem}",
            level=level,
            problem=problem,
        )

    @staticmethod
    def plan(*names):
        return Plan(
            format=FORMAT,
            suite="kernelbench",
            mode=Mode.EVAL,
            policy="builtin",
            device="NVIDIA H200",
            device_kind="cuda",
            gpu="h200",
            settings={"scale": "", "precision": "reference"},
            names=names,
        )

    def record(self, level, problem, verdict=None, **more):
        known = {
            "name": self.name(level, problem, more.pop("digest", "")),
            "mode": Mode.EVAL,
            "device": "NVIDIA H200",
            "fate": Fate.JUDGED,
            "verdict": verdict,
            "audit": audit(),
            "cost": Cost(gpu_s=2.0, wall_s=5.0),
            "told": Told(),
        }
        return TaskRecord(**(known | more))


@pytest.fixture
def made():
    return Made()


@pytest.fixture
def suite_folder(tmp_path):
    """Writes a suite: `suite_folder({1: ["passes 50", "wrong"]})`."""

    def write(levels, root=None):
        root = root or tmp_path / "suite"
        for level, fates in levels.items():
            folder = root / f"level{level}"
            folder.mkdir(parents=True, exist_ok=True)
            for problem, fate in enumerate(fates, start=1):
                (folder / f"{problem}_{fate.split()[0]}.py").write_text(SOURCE.format(fate=fate))
        return root

    return write


@pytest.fixture
def order(tmp_path, suite_folder, monkeypatch):
    """An order over a suite of these fates, carried out by stand-ins."""
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setenv("WARPSMITH_TEST_MARKS", str(marks))

    def make(levels, *, workers=1, max_s=None, run="run", training=False, turns=200):
        root = suite_folder(levels)
        device = select_device("cpu")
        task = Task(task_id="", source="", provenance="", is_training=training)
        wish = Wish(
            suite="kernelbench",
            chosen=chosen(Source(kind="kernelbench", path=root), Choice(), "cpu"),
            choice=Choice(),
            spec=RunSpec(
                policy="fake", device="cpu", sandbox="process", task=task, budget=Budget(max_turns=turns)
            ),
            device=device,
            path=tmp_path / run,
            num_workers=workers,
            max_s=max_s,
            audit_s=1.0,
        )
        return replace(order_of(wish), command=(sys.executable, str(WORKER)))

    return make


class Watched:
    """A Watcher that keeps what it saw; `then` is called at each beat."""

    def __init__(self, then=lambda watched: None):
        self.begun, self.done, self.again, self.left = [], [], [], []
        self.doing = []
        self._then = then

    def on_begun(self, worker, job):
        self.begun.append(job.name.key)

    def on_doing(self, worker, what):
        self.doing.append(what)

    def on_done(self, worker, record):
        self.done.append(record.name.key)

    def on_again(self, worker, job, reason):
        self.again.append((job.name.key, reason))

    def on_left(self, worker, job):
        self.left.append(job.name.key)

    def on_ending(self):
        self.doing.append("ending")

    def on_beat(self):
        self._then(self)


@pytest.fixture
def watched():
    return Watched


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    """Runs a command line in an empty folder of its own; workers are stand-ins."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WARPSMITH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WARPSMITH_TEST_MARKS", str(tmp_path))
    monkeypatch.setattr(
        "warpsmith.bench.run.run_bench",
        lambda order, watcher: run_bench(replace(order, command=(sys.executable, str(WORKER))), watcher),
    )

    def invoke(*arguments):
        code = run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return SimpleNamespace(code=code, out=printed.out, err=printed.err)

    return invoke
