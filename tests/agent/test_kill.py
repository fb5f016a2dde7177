"""kill -9 at any moment: the run goes on, ends as it would have, and pays for no reply twice."""

import os
import random
import signal
import time
import warnings

import pytest

from warpsmith.agent import Finished, Resumed, Silent, Started, TurnEnded, in_effect, read_events
from warpsmith.agent.episode import Episode
from warpsmith.agent.optimize import OptimizeConfig, episode
from warpsmith.agent.runs.record import Record
from warpsmith.agent.runs.resume import Means, resume
from warpsmith.core import Cost, Role, UsageError
from warpsmith.device import select_device
from warpsmith.policy import Reply

pytestmark = pytest.mark.slow

NUM_KILLS = 50
WORDS = ("100", "90", "wrong", "70", "broken", "95", "70", "60", "65", "wrong", "50", "55")


class Payer:
    """A policy that costs money: it leaves a mark if it is asked for what the record already holds."""

    name = "payer"
    context_tokens = None

    def __init__(self, folder, say):
        self.folder, self.say = folder, say

    def respond(self, messages, tools):
        due = sum(message.role is Role.ASSISTANT for message in messages)
        if f'"reply {due}"' in (self.folder / "trajectory.jsonl").read_text():
            (self.folder.parent / "paid twice").touch()
        time.sleep(0.001)
        return Reply(message=self.said(due), cost=Cost(usd=1.0, prompt_tokens=10))

    def said(self, due):
        say, words = self.say, ("", *WORDS)
        if due == len(WORDS):
            return say.text(f"reply {due}")
        if due == 0:
            put = say.call("write", path="model_new.py", text=f"# {WORDS[0]}\nx = 1\n")
        else:
            old, new = (f"# {word}\n" for word in words[due : due + 2])
            put = say.call("edit", path="model_new.py", old=old, new=new)
        note = say.call("write", path=f"kernels/{due}.cu", text=f"// {due}\n")
        reply = say.reply(put, note, say.call("profile"), say.call("todo", items=[]))
        return type(reply)(role=reply.role, text=f"reply {due}", tool_calls=reply.tool_calls)


class Slow:
    """Happens before every answer of the fake judge."""

    def pop(self, _place):
        return lambda: time.sleep(0.002)


def live(folder, say, task, *, again):
    """A whole life of a process on this run."""
    bench, policy = say.bench_of(say.Judge(script=Slow())), Payer(folder, say)
    if again:
        resume(folder, Silent(), Means(policy=policy, bench=bench))
        return
    config = OptimizeConfig(device=select_device("cpu"), sandbox="process")
    with Record.create(folder, task) as record, bench(task, config) as held:
        episode(policy, held, config, record, Silent())


def process(folder, say, task, *, again, kill_after_s=None):
    """Whether it came to its end by itself; it must not fail."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of a fork beside threads: it only runs our own code
        child = os.fork()
    if child == 0:
        code = 1
        try:
            live(folder, say, task, again=again)
            code = 0
        finally:
            os._exit(code)
    if kill_after_s is not None:
        time.sleep(kill_after_s)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFEXITED(status)


def final(folder):
    """All that counts in the end, but for times and the numbers of calls."""
    events = in_effect(read_events(folder))
    state = Episode()
    for event in events:
        state.apply(event)
    end = events[-1]
    assert isinstance(end, Finished)
    said = [(message.role, message.text, len(message.tool_calls)) for message in state.context]
    files = [event.files for event in events if isinstance(event, TurnEnded)]
    program = (folder / "model_new.py").read_text()
    return end.stop, end.num_turns, end.best.candidate.digest, end.cost.usd, said, files, program


def has_begun(folder):
    try:
        return isinstance(read_events(folder)[0], Started)
    except (UsageError, IndexError):
        return False


@pytest.fixture(scope="module")
def whole(tmp_path_factory, say):
    """What comes of it without a kill, and how long it takes."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    begun_s = time.monotonic()
    assert process(folder, say, say.task, again=False)
    return final(folder), time.monotonic() - begun_s


@pytest.mark.parametrize("seed", range(NUM_KILLS))
def test_a_run_killed_at_any_moment_ends_the_same(tmp_path, say, task, whole, seed):
    expected, whole_s = whole
    folder, dice = tmp_path / "run", random.Random(seed)
    is_over = process(folder, say, task, again=False, kill_after_s=dice.uniform(0, whole_s))
    if not has_begun(folder):
        return  # killed before there was anything: a new run is what is left to do
    num_kills = dice.choice((0, 0, 1, 3))
    while not is_over:
        kill_after_s = dice.uniform(0, whole_s) if num_kills > 0 else None
        num_kills -= 1
        if isinstance(in_effect(read_events(folder))[-1], Finished):
            break  # it was killed after its end
        is_over = process(folder, say, task, again=True, kill_after_s=kill_after_s)
    assert final(folder) == expected
    assert not (tmp_path / "paid twice").exists()


def test_a_run_that_is_killed_fifty_times_ends_the_same(tmp_path, say, task, whole):
    expected, whole_s = whole
    folder, dice = tmp_path / "run", random.Random(0)
    process(folder, say, task, again=False, kill_after_s=whole_s / 2)
    num_resumed = 0
    while not isinstance(in_effect(read_events(folder))[-1], Finished):
        kill_after_s = dice.uniform(0, whole_s / 3) if num_resumed < NUM_KILLS else None
        process(folder, say, task, again=True, kill_after_s=kill_after_s)
        num_resumed += 1
    assert final(folder) == expected
    assert not (tmp_path / "paid twice").exists()
    assert any(isinstance(event, Resumed) for event in read_events(folder))
