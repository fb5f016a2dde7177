"""A worker whose policy, judge and audit are stand-ins: a task's source says what befalls it.

The loop, the run folder and everything that is said to the bench are real.
"""

import os
import re
import signal
import time
from contextlib import contextmanager
from pathlib import Path

from warpsmith.agent.optimize import Bench
from warpsmith.bench.work import Hands
from warpsmith.bench.worker import main
from warpsmith.core import (
    Accuracy,
    Cost,
    InfraError,
    Message,
    Passed,
    Provenance,
    Ratio,
    Role,
    Series,
    TaskError,
    Timing,
    ToolCall,
    Wrong,
)
from warpsmith.core.audit import Finding, Kind, Severity, TaskAudit
from warpsmith.policy import Reply
from warpsmith.sandbox import pick
from warpsmith.toolchain import Build

FATE = re.compile(r'^FATE = "(?P<fate>.*)"$', re.MULTILINE)
PLAN = "I write 1 kernel.\n- add_relu (elementwise): add, relu; reads 1 MB, writes 1 MB"
DECLINED = "I decline this task: no kernel of mine covers aten.conv: no recipe. I have written nothing."
STEP_S = 0.05


def fate_of(source):
    return FATE.search(source)["fate"]


def once(fate):
    """Whether this is the first time, over all workers."""
    mark = Path(os.environ["WARPSMITH_TEST_MARKS"]) / fate.replace(" ", "-")
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def timing(candidate_us):
    ratio = Ratio(centre=100 / candidate_us, low=98 / candidate_us, high=102 / candidate_us)
    return Timing(
        provenance=Provenance.MEASURED,
        gpu="H200",
        candidate=Series(name="candidate", samples_us=(candidate_us,)),
        eager=Series(name="eager", samples_us=(100.0,)),
        compile=Series(name="compile", samples_us=(100.0,)),
        against_eager=ratio,
        against_compile=ratio,
        floor_us=10.0,
    )


class Judge:
    held_s = 0.0

    def __init__(self, fate):
        self.fate = fate

    def build(self, candidate):
        return Build(folder=Path(), launchers=(), resources=(), log="", is_cached=False, wall_s=0.0)

    def measure(self, candidate):
        self.held_s += 1.0
        if self.fate == "hangs":
            time.sleep(1000)
        if self.fate == "wrong":
            return Wrong(what="values", message="output 0 at [3]: 2.0, expected 4.0")
        time.sleep(STEP_S)
        if self.fate == "long":
            return Wrong(what="values", message="not yet")
        accuracy = Accuracy(error=1e-7, reference_error=1e-7, allowed=1e-6)
        return Passed(accuracy=accuracy, timing=timing(float(self.fate.split()[-1])))

    verify = measure


@contextmanager
def opened(task, config):
    fate = fate_of(task.source)
    if fate == "refused":
        raise TaskError(f"{task.task_id}: an answer of zeros would pass")
    if fate == "fails" or (fate.startswith("fails once") and once(fate)):
        raise InfraError("the driver is gone")
    if fate == "dies" or (fate.startswith("dies once") and once(fate)):
        os.kill(os.getpid(), signal.SIGKILL)
    yield Bench(
        task=task,
        judge=Judge(fate),
        sandbox=pick("process"),
        device=config.device,
        environment={"judge": "fake"},
    )


class Policy:
    """Writes once and profiles, or does so again and again."""

    name = "fake"
    context_tokens = None

    def respond(self, messages, tools):
        turn = sum(message.role is Role.ASSISTANT for message in messages)
        source = next(message.text for message in messages if message.role is Role.USER)
        fate = fate_of(source)
        if fate == "breaks":
            raise KeyError("a bug of ours")
        if fate == "declines":
            return Reply(message=Message(role=Role.ASSISTANT, text=DECLINED), cost=Cost())
        if turn >= (60 if fate == "long" else 1):
            return Reply(message=Message(role=Role.ASSISTANT, text="Done.\n- add_relu: float4"), cost=Cost())
        write = ToolCall(
            call_id=f"w{turn}",
            tool="write",
            arguments={"path": "model_new.py", "text": f"x = {turn}\n"},
        )
        profile = ToolCall(call_id=f"p{turn}", tool="profile", arguments={})
        text = PLAN if turn == 0 else f"step {turn}"
        said = Message(role=Role.ASSISTANT, text=text, tool_calls=(write, profile))
        return Reply(message=said, cost=Cost())


def audited(job, device):
    fate = fate_of(job.spec.task.source)
    finding = Finding(
        kind=Kind.ZEROS, severity=Severity.DEGENERATE, subject="the output", evidence="0", repair="-"
    )
    return TaskAudit(
        task_id=job.spec.task.task_id,
        digest=job.spec.task.digest,
        scale=1.0,
        inputs=(),
        findings=(finding,) if fate == "refused" else (),
        num_forwards=1,
        wall_s=0.0,
    )


if __name__ == "__main__":
    main(Hands(audit=audited, bench=opened, policy=lambda spec, config: Policy()))
