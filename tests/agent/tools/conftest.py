"""A bench for tools: a real sandbox, and a judge that only notes what it is asked."""

from pathlib import Path

import pytest

from warpsmith.agent.tools import Context, answer
from warpsmith.agent.workspace.folder import Workspace
from warpsmith.core import Accuracy, BuildFailed, Passed, Task, ToolCall
from warpsmith.sandbox import SANDBOXES, pick
from warpsmith.toolchain import Build

TASK = Task(
    task_id="twice",
    source="class Model: ...\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n",
    provenance="test",
)
KINDS = [kind for kind, sandbox in SANDBOXES.items() if sandbox.is_available()]


class NotingJudge:
    """Everything is right, but for a program that says it is broken."""

    def __init__(self):
        self.asked = []

    def build(self, candidate):
        self.asked.append(("build", candidate))
        if "broken" in candidate.text("model_new.py"):
            return BuildFailed(log="a.cu(3): error: identifier is undefined")
        return Build(folder=Path(), launchers=(), resources=(), log="ptxas info", is_cached=False, wall_s=0.5)

    def verify(self, candidate):
        self.asked.append(("verify", candidate))
        return Passed(accuracy=Accuracy(error=1e-7, reference_error=1e-7, allowed=1e-6))

    def measure(self, candidate):
        self.asked.append(("measure", candidate))
        return Passed(accuracy=Accuracy(error=1e-7, reference_error=1e-7, allowed=1e-6))


class Bench:
    task = TASK

    def __init__(self, folder, sandbox):
        self.folder = folder
        self.judge = NotingJudge()
        self.logs = {}
        self.workspace = Workspace.create(folder / "work", TASK, sandbox)
        self.root = self.workspace.root
        self.context = Context(
            workspace=self.workspace,
            judge=self.judge,
            keep_log=lambda digest, log: self.logs.update({digest: log}),
        )

    def ask(self, tool, **arguments):
        return answer(ToolCall(call_id="c", tool=tool, arguments=arguments), self.context)

    def say(self, tool, **arguments):
        return self.ask(tool, **arguments).text


@pytest.fixture
def task():
    return TASK


@pytest.fixture
def bench(tmp_path):
    bench = Bench(tmp_path, pick("process"))
    yield bench
    bench.context.close()


@pytest.fixture(params=KINDS)
def any_bench(tmp_path, request):
    """The same in every kind of sandbox that works here."""
    bench = Bench(tmp_path, SANDBOXES[request.param]())
    yield bench
    bench.context.close()
