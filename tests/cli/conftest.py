"""Commands run in this process, over stand-ins for what takes long: episode, judge and compilers."""

import json
from dataclasses import dataclass

import pytest

from warpsmith.agent.events import Finished, Improved, Judged, Said, Started, TurnEnded
from warpsmith.agent.optimize import Optimized
from warpsmith.agent.runs.record import Record
from warpsmith.cli.app import run
from warpsmith.core import (
    Accuracy,
    Candidate,
    Cost,
    Message,
    Passed,
    Provenance,
    Ratio,
    Role,
    Series,
    Solution,
    StopReason,
    Timing,
    ToolCall,
    Trajectory,
    Turn,
)
from warpsmith.policy.endpoint.probe import Found, Probe
from warpsmith.toolchain import Build

TASK_SOURCE = """
import torch
SCALE = 1.0
class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
    def forward(self, x): return x * self.weight
def get_init_inputs(): return [33]
def get_inputs(): return [torch.randn(max(7, int(64 * SCALE)), 33)]
"""
CANDIDATE = Candidate.of({"model_new.py": "import cuda_extension\n", "kernels/a.cu": "// Multiplies.\n"})


@dataclass
class Printed:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def document(self):
        """The one JSON document on stdout."""
        return json.loads(self.out)


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path):
    """Runs a command line in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WARPSMITH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WARPSMITH_DEBUG", raising=False)

    def invoke(*arguments):
        code = run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Printed(code, printed.out, printed.err)

    return invoke


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "task.py"
    path.write_text(TASK_SOURCE)
    return path


@pytest.fixture
def program(tmp_path):
    """A folder with a program."""
    folder = tmp_path / "program"
    CANDIDATE.write(folder)
    return folder


@pytest.fixture
def passed():
    """Makes a pass with a time, against 100 µs of eager and compile."""

    def make(candidate_us=50.0, *, measured=True):
        centre = 100.0 / candidate_us
        spread = 0.05 if measured else 0.0
        ratio = Ratio(centre=centre, low=centre - spread, high=centre + spread)
        timing = Timing(
            provenance=Provenance.MEASURED if measured else Provenance.MODELLED,
            gpu="NVIDIA H200",
            candidate=Series(name="candidate", samples_us=(candidate_us,)),
            eager=Series(name="eager", samples_us=(100.0,)),
            compile=Series(name="compile", samples_us=(100.0,)),
            against_eager=ratio,
            against_compile=ratio,
            floor_us=25.0,
        )
        return Passed(accuracy=Accuracy(error=1e-7, reference_error=1e-7, allowed=1e-6), timing=timing)

    return make


@pytest.fixture
def episode(monkeypatch):
    """Replaces the episode: `episode(verdict, stop)` makes one that ends so, through a real record."""

    def replace(verdict, stop=StopReason.FINISHED, *, raises=None):
        def optimize(task, policy, config, listener):
            best = None if verdict is None else Solution(candidate=CANDIDATE, verdict=verdict)
            record = (
                Record.create_default(task) if config.folder is None else Record.create(config.folder, task)
            )
            with record:
                events = _events(task, policy, config, best, stop)
                for event in events[:3] if raises else events:
                    record.on_event(event)
                    listener.on_event(event)
                if raises:
                    raise raises
            turn = Turn(reply=events[1].message, answers=(), cost=Cost())
            trajectory = Trajectory(
                task_id=task.task_id, turns=(turn,), best=best, stop=stop, cost=Cost(wall_s=3)
            )
            return Optimized(folder=record.folder, trajectory=trajectory, environment={"device": "cpu"})

        monkeypatch.setattr("warpsmith.agent.optimize.optimize", optimize)

    return replace


def _events(task, policy, config, best, stop):
    call = ToolCall(call_id="1", tool="write", arguments={"path": "kernels/a.cu"})
    reply = Message(role=Role.ASSISTANT, text="I decline: no recipe [bold]yet[/]", tool_calls=(call,))
    events = [
        Started(
            task_id=task.task_id,
            task_digest=task.digest,
            provenance=task.provenance,
            scale=task.scale,
            policy=policy.name,
            device="cpu",
            environment={"device": "cpu"},
            config=config.spec(task).to_config(),
        ),
        Said(message=reply, cost=Cost(wall_s=3)),
    ]
    if best is not None:
        events += [Judged(tool="profile", digest="d", verdict=best.verdict), Improved(solution=best)]
    return [
        *events,
        TurnEnded(number=1, cost=Cost()),
        Finished(stop=stop, cost=Cost(wall_s=3), num_turns=1, best=best),
    ]


@pytest.fixture
def judge(monkeypatch):
    """Replaces the judge by one that always says the same."""

    def replace(verdict):
        class FakeJudge:
            def __init__(self, task, *, device, **rest):
                self.device = device

            def __enter__(self):
                if isinstance(verdict, BaseException):
                    raise verdict
                return self

            def __exit__(self, *error): ...

            def verify(self, candidate):
                return verdict

            measure = verify

            def environment(self):
                return {"device": self.device.kind, "torch": "2"}

        monkeypatch.setattr("warpsmith.judge.Judge", FakeJudge)

    return replace


@pytest.fixture
def compilers(monkeypatch, tmp_path):
    """Replaces the compilers by one that builds an empty library at once, or gives `outcome`."""

    def replace(outcome=None):
        folder = tmp_path / "built"
        folder.mkdir()
        (folder / "cuda_extension.py").touch()
        (folder / "libcandidate.so").touch()
        built = Build(folder=folder, launchers=(), resources=(), log="", is_cached=False, wall_s=0.1)

        class FakeToolchain:
            def __init__(self, device, store, runner): ...

            def build(self, candidate):
                return outcome or built

        monkeypatch.setattr("warpsmith.toolchain.Toolchain", FakeToolchain)

    return replace


@pytest.fixture
def script(tmp_path):
    """A policy that says nothing: the fake episode does not ask it."""
    path = tmp_path / "script.json"
    path.write_text("[]")
    return ("--model", f"scripted:{path}", "--device", "cpu", "--sandbox", "process")


@pytest.fixture
def endpoint(monkeypatch):
    """Replaces what is asked of an endpoint: `endpoint(tools=…)` makes one that has been found to be so."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def replace(**found):
        def probe(config, model):
            facts = {"reachable": Found(has=True, how="it lists 1 models"), "models": (model,), **found}
            return Probe(url="http://localhost:1/v1", model=model, **facts)

        monkeypatch.setattr("warpsmith.policy.endpoint.probe.probe", probe)

    return replace
