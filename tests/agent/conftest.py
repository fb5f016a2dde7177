"""A stage for episodes: a scripted policy, a judge that reads its verdict off the program, a real sandbox."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from warpsmith.agent import Budget, Record, SkillAgent, Workspace
from warpsmith.agent.loop import Setting
from warpsmith.agent.optimize import Bench
from warpsmith.agent.runs.snapshot import Blobs
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
from warpsmith.policy import Reply
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
    held_s: float = 0.0  # a second a question, if it has a GPU
    has_gpu: bool = False

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
        self.held_s += float(self.has_gpu and question != "build")
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


class Reciter:
    """A policy that says the reply which is due by the conversation, whoever said those before.

    A reply is a Message, a Reply, or an error to be raised. `asked` keeps the number of each that was due.
    """

    name = "reciter"

    def __init__(self, *replies, cost=None, context_tokens=None):
        self.context_tokens = context_tokens
        self.replies = replies
        self.cost = cost or Cost(prompt_tokens=5_000, completion_tokens=3, usd=0.25)
        self.asked = []
        self.heard = []

    def respond(self, messages, tools):
        due = sum(message.role is Role.ASSISTANT for message in messages)
        self.asked.append(due)
        self.heard.append(messages)
        said = self.replies[due] if due < len(self.replies) else text("I have finished.")
        if isinstance(said, BaseException):
            raise said
        return said if isinstance(said, Reply) else Reply(message=said, cost=self.cost)


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
        return self.play(ScriptedPolicy([reply(*calls) for calls in turns], cost=cost or Cost()))

    def play(self, policy):
        """An episode of this policy's."""
        self.policy = policy
        setting = Setting(
            judge=self.judge,
            workspace=self.workspace,
            budget=self.budget,
            listener=self.heard,
            blobs=Blobs(self.folder / "blobs"),
        )
        return SkillAgent(policy, setting).run(TASK)

    def answer(self, *calls):
        """The answers to the calls of one reply."""
        return [message.text for message in self.run(calls).turns[0].answers]


def text(words):
    """A reply without a tool call."""
    return Message(role=Role.ASSISTANT, text=words)


def bench_of(judge):
    """What stands for `open_bench`: this judge, and the cpu device."""

    @contextmanager
    def opened(task, config):
        yield Bench(
            task=task,
            judge=judge,
            sandbox=pick("process"),
            device=config.device,
            environment={"judge": "fake"},
        )

    return opened


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
    Say.text, Say.Reciter, Say.bench_of = staticmethod(text), Reciter, staticmethod(bench_of)
    Say.Judge, Say.task = FakeJudge, TASK
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
