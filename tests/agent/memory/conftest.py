"""Runs on a fake judge, and notes that are made of them."""

from dataclasses import replace

import pytest

from warpsmith.agent import Silent
from warpsmith.agent.memory.distilling import Distilling, distilled
from warpsmith.agent.memory.notes import Notes
from warpsmith.agent.memory.nouns import Evidence, Note, Step
from warpsmith.agent.optimize import OptimizeConfig, episode
from warpsmith.agent.runs.record import Record
from warpsmith.core import Message, Passed, Provenance, Role, Task
from warpsmith.device import select_device

SOURCE = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(torch.relu(x) * 2, dim=-1)


def get_inputs():
    return [torch.randn(8, 8)]


def get_init_inputs():
    return []
"""
TASK = Task(task_id="twice", source=SOURCE, provenance="test")


class Runs:
    """Makes runs; a turn is a program, told by its time or fault, and what is said with it."""

    task = TASK

    def __init__(self, folder, say):
        self.folder, self.say = folder, say

    def run(self, *turns, name="run", task=TASK, script=(), last="Done."):
        judge = self.say.Judge(script=list(script))
        replies = [self._reply(*turn) for turn in turns] + [self.say.text(last)]
        config = OptimizeConfig(device=select_device("cpu"), sandbox="process")
        bench = self.say.bench_of(judge)
        with Record.create(self.folder / name, task) as record, bench(task, config) as held:
            episode(self.say.Reciter(*replies), held, config, record, Silent())
        return self.folder / name

    def _reply(self, word, said="", kernel="// a kernel"):
        files = f"printf '# {word}\\nx = 1\\n' > model_new.py; cat > kernels/a.cu <<'END'\n{kernel}\nEND\n"
        calls = (self.say.call("bash", command=files), self.say.call("profile"))
        return Message(role=Role.ASSISTANT, text=said, tool_calls=calls)


@pytest.fixture
def runs(tmp_path, say):
    return Runs(tmp_path / "runs", say)


@pytest.fixture
def note_of():
    """The one candidate note of a run."""

    def made(folder, **distilling):
        ((_, note),) = distilled([folder], Distilling(**distilling))
        return note

    return made


@pytest.fixture
def notes(tmp_path):
    return Notes(folder=tmp_path / "docs")


def made(operators, steps, change, digest):
    evidence = Evidence(
        run="first",
        started_at="2030-01-31",
        task_digest=TASK.digest,
        candidate_digest=digest,
        device="NVIDIA H200",
        gpu="h200",
        provenance=Provenance.MEASURED,
        candidate_us=100.0,
        eager_us=200.0,
        compile_us=None,
        floor_us=50.0,
        low=1.95,
        high=2.05,
        gates=("build", "numbers"),
        environment={"torch": "2.13"},
    )
    return Note(
        title=f"{', '.join(operators)}: 2.00 times as fast on h200",
        task="twice",
        reference="ab" * 32,
        policy="reciter",
        operators=operators,
        steps=steps,
        change=change,
        evidence=evidence,
    )


@pytest.fixture
def note():
    step = Step(turn=1, meant="Fuse the two.", gave="right", time_us=100.0)
    return made(("softmax", "relu"), (step,), "", "d1")


@pytest.fixture
def another():
    """Of the same task, and quite another program."""
    steps = (
        Step(turn=1, meant="One block a row, in two passes over shared memory.", gave="wrong (values)"),
        Step(turn=2, meant="Keep the row in registers, reduce by shuffles.", gave="right", time_us=80.0),
    )
    change = "+__shared__ float tile[32][33];  // padded against bank conflicts"
    return made(("softmax", "relu"), steps, change, "d2")


@pytest.fixture
def modelled(say):
    """Verdicts that come from a model in place of a clock."""

    def made(microseconds):
        timing = replace(say.timing(microseconds), provenance=Provenance.MODELLED)
        return Passed(accuracy=say.accuracy, timing=timing)

    return made
