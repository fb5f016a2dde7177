"""A stage for episodes: a scripted policy, a judge that reads its verdict off the program, a real sandbox."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from warpsmith.agent import Budget, Record, SkillAgent, Workspace
from warpsmith.core import (
    Accuracy,
    BuildFailed,
    Cost,
    InfraError,
    Message,
    Passed,
    Provenance,
    Ratio,
    Role,
    Series,
    Task,
    Timing,
    ToolCall,
    Wrong,
)
from warpsmith.policy.scripted import ScriptedPolicy
from warpsmith.sandbox import pick
from warpsmith.toolchain import Build

TASK = Task(
    task_id="twice",
    source="class Model: ...\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n",
    provenance="test",
)
ACCURACY = Accuracy(error=1e-7, reference_error=1e-7, allowed=1e-6)


def timing(microseconds):
    ratio = Ratio(centre=200 / microseconds, low=195 / microseconds, high=205 / microseconds)
    return Timing(
        provenance=Provenance.MEASURED,
        gpu="h200",
        candidate=Series(name="candidate", samples_us=(microseconds,)),
        eager=Series(name="eager", samples_us=(200.0,)),
        compile=Series(name="compile", samples_us=(200.0,)),
        against_eager=ratio,
        against_compile=ratio,
        floor_us=50.0,
        num_launches=1,
    )


@dataclass
class FakeJudge:
    """The first line of model_new.py tells its verdict: `# 100` passes with that time, `# wrong` fails.

    `script` holds what happens before that, a question each: an error, a verdict, a call, or nothing.
    """

    script: list = field(default_factory=list)
    asked: list = field(default_factory=list)

    def build(self, candidate):
        self._note("build", candidate)
        word = self._word(candidate)
        if word == "broken":
            return BuildFailed(log="a.cu(3): error: identifier is undefined")
        return Build(folder=Path(), launchers=(), resources=(), log="ptxas info", is_cached=False, wall_s=0.5)

    def verify(self, candidate):
        given = self._note("verify", candidate)
        return given or self._verdict(candidate, is_timed=False)

    def measure(self, candidate):
        given = self._note("measure", candidate)
        return given or self._verdict(candidate, is_timed=True)

    def _note(self, question, candidate):
        self.asked.append((question, candidate))
        happening = self.script.pop(0) if self.script else None
        if isinstance(happening, BaseException):
            raise happening
        return happening() if callable(happening) else happening

    def _verdict(self, candidate, *, is_timed):
        word = self._word(candidate)
        if word == "wrong":
            return Wrong(
                what="values", message="output 0 at [3, 5]: 2.0, expected 4.0", error=0.5, allowed=1e-6
            )
        if word == "broken":
            return BuildFailed(log="a.cu(3): error: identifier is undefined")
        return Passed(accuracy=ACCURACY, timing=timing(float(word)) if is_timed else None)

    def _word(self, candidate):
        return candidate.text("model_new.py").split("\n")[0].removeprefix("# ")


class Collected:
    """A listener that keeps what it hears."""

    def __init__(self):
        self.events = []

    def on_event(self, event):
        self.events.append(event)

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


class Stage:
    """Everything that an episode needs, in a temporary folder."""

    task = TASK

    def __init__(self, folder):
        self.folder = folder
        self.judge = FakeJudge()
        self.heard = Collected()
        self.budget = Budget()
        self.workspace = Workspace.create(folder / "work", TASK, pick("process"))

    def run(self, *turns, cost=None):
        """An episode of these turns; each is the tool calls of one reply."""
        policy = ScriptedPolicy([reply(*calls) for calls in turns], cost=cost or Cost())
        self.policy = policy
        return SkillAgent(policy, self.judge, self.workspace, self.budget, self.heard).run(TASK)

    def answer(self, *calls):
        """The answers to the calls of one reply."""
        return [message.text for message in self.run(calls).turns[0].answers]


_number = iter(range(10**9))


def call(tool, **arguments):
    return ToolCall(call_id=f"c{next(_number)}", tool=tool, arguments=arguments)


def reply(*calls):
    return Message(role=Role.ASSISTANT, text="", tool_calls=calls)


def program(word):
    """A call that writes model_new.py by way of the shell, where no file needs to be read first."""
    return call("bash", command=f"printf '# {word}\\nx = 1\\n' > model_new.py")


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


@pytest.fixture(scope="session")
def say():
    """How tests spell a reply: `say.call(tool, …)`, `say.program("100")`."""

    class Say:
        pass

    Say.call, Say.program = staticmethod(call), staticmethod(program)
    Say.reply, Say.timing = staticmethod(reply), staticmethod(timing)
    Say.accuracy, Say.infra_error = ACCURACY, InfraError("the driver is gone")
    return Say


@pytest.fixture
def task():
    return TASK


@pytest.fixture
def record(tmp_path):
    with Record.create(tmp_path / "run", TASK) as record:
        yield record
