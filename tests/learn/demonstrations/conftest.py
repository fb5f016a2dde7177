"""Small tasks of the kinds that plain writers know."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from warpsmith.agent.optimize import Bench
from warpsmith.core import Task, Wrong
from warpsmith.device import select_device
from warpsmith.learn.demonstrations.reader import Reader
from warpsmith.sandbox import pick
from warpsmith.toolchain import Build

FORM = """import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x, y):
        return {result}


def get_inputs():
    return [torch.randn(6, {width}), torch.randn(6, {width})]


def get_init_inputs():
    return [{width}]
"""

RESULTS = {
    "flat": "torch.tanh(x) * y + 1.0",
    "broadcast": "torch.relu(x + self.bias) * 0.5",
    "softmax": "torch.softmax(x * y, dim=-1)",
    "norm": "self.norm(x) + y",
    "total": "(x * y).mean(dim=1).exp()",
    "columns": "torch.amax(x, dim=0)",
    "scan": "torch.cumsum(x, dim=1)",
    "two": "(x + y, x - y)",
}


class Judge:
    """Refuses the programs that hold a word, and passes all others."""

    held_s = 0.0

    def __init__(self, passed, refused):
        self.passed, self.refused = passed, refused
        self.asked = []

    def build(self, _candidate):
        return object.__new__(Build)

    def measure(self, candidate):
        self.asked.append(candidate)
        text = candidate.text(candidate.files[0][0])
        return Wrong(what="values", message="off") if self.refused and self.refused in text else self.passed


@pytest.fixture(scope="session")
def task_of():
    """A task by the name of what it computes."""

    def made(name, width=20):
        source = FORM.format(result=RESULTS[name], width=width)
        return Task(task_id=name, source=source, provenance="test")

    return made


@pytest.fixture(scope="session")
def kinds():
    return tuple(RESULTS)


@pytest.fixture(scope="session")
def reading(base):
    return Reader.of(base)


@pytest.fixture
def courtroom(made):
    """(`opened` for a court, its judge), who refuses programs that hold a word."""

    def of(refused=""):
        judge = Judge(made.passed(2.0), refused)

        @contextmanager
        def opened(task):
            yield Bench(
                task=task, judge=judge, sandbox=pick("process"), device=select_device("cpu"), environment={}
            )

        return SimpleNamespace(opened=opened, judge=judge)

    return of
