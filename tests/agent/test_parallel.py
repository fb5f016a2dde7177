"""Several trajectories at once: shared judge and budget, the best of all, and what one's failure does."""

import json
import os
import re
import signal
import threading
import time
from dataclasses import dataclass, field

import pytest

from warpsmith.agent import Aborted, Budget, Finished, Improved, Started, read_events
from warpsmith.agent.attempts.parallel import Judges, Maker, optimize_many, seeded
from warpsmith.agent.optimize import OptimizeConfig
from warpsmith.agent.workspace.folder import skill_text
from warpsmith.core import (
    Candidate,
    Cost,
    EnvironmentMissing,
    InfraError,
    Passed,
    StopReason,
    Task,
    TaskError,
    UsageError,
)
from warpsmith.device import select_device
from warpsmith.policy import PolicyConfig, Sampling


@dataclass
class Heard:
    """An audience that keeps what it hears."""

    run: list = field(default_factory=list)
    attempts: list = field(default_factory=list)

    def on_event(self, event):
        self.run.append(event)

    def on_attempt(self, attempt, event):
        self.attempts.append((attempt, event))


@pytest.fixture
def race(tmp_path, say, task):
    """`race(maker, …)`: these attempts at the task of `conftest`, before a judge that reads its verdict."""

    class Race:
        folder = tmp_path / "run"
        judge = say.Judge()
        heard = Heard()
        budget = Budget()
        num_judges = 1

        def __call__(self, *policies):
            makers = [policy if isinstance(policy, Maker) else maker(policy) for policy in policies]
            config = OptimizeConfig(device=select_device("cpu"), budget=self.budget, folder=self.folder)
            judges = Judges(number=self.num_judges, opened=say.bench_of(self.judge))
            return optimize_many(task, makers, config, self.heard, judges)

        def log(self, attempt=None):
            return read_events(self.folder if attempt is None else self.folder / "attempts" / str(attempt))

    return Race()


def maker(policy):
    return Maker(make=lambda: policy)


@pytest.fixture
def writes(say):
    """A policy that writes programs of these times, one a turn, and then has finished."""

    def writes(*words, cost=None):
        replies = [say.reply(say.program(word), say.call("profile")) for word in words]
        return say.Reciter(*replies, cost=cost)

    return writes


def test_the_best_program_of_all_attempts_is_the_runs(race, writes):
    done = race(writes("100", "90"), writes("40", "60"), writes("wrong"))
    assert done.winner == 2
    assert done.trajectory.best.verdict.timing.candidate.median_us == 40.0
    assert (race.folder / "model_new.py").read_text().startswith("# 40")
    outcome = json.loads((race.folder / "verdict.json").read_text())
    assert outcome["is_final"]
    assert outcome["candidate_digest"] == done.trajectory.best.candidate.digest


def test_each_attempt_leaves_a_whole_run(race, writes):
    race(writes("100"), writes("40"))
    for number, word in ((1, "100"), (2, "40")):
        folder = race.folder / "attempts" / str(number)
        assert (folder / "model_new.py").read_text().startswith(f"# {word}")
        assert isinstance(race.log(number)[0], Started)
        assert isinstance(race.log(number)[-1], Finished)


def test_all_attempts_are_listed(race, writes, say):
    race(writes("100"), writes("wrong"), say.Reciter(say.infra_error))
    listed = json.loads((race.folder / "attempts.json").read_text())
    assert [entry["folder"] for entry in listed] == ["attempts/1", "attempts/2", "attempts/3"]
    assert [entry["stop"] for entry in listed] == ["finished", "finished", "policy"]
    assert [entry["is_best"] for entry in listed] == [True, False, False]
    assert [entry["candidate_us"] for entry in listed] == [100.0, None, None]
    assert listed[2]["reason"] == "the driver is gone"
    started, finished = race.log()[0], race.log()[-1]
    assert started.config == {"attempts": ["attempts/1", "attempts/2", "attempts/3"]}
    assert finished.reason == "attempt 1 is the best; 1 finished, 2 finished, 3 policy"


def test_the_runs_folder_holds_the_best_so_far_while_attempts_go_on(race, writes, say):
    seen = []

    class Late(say.Reciter):
        def respond(self, messages, tools):
            wait_for(lambda: (race.folder / "model_new.py").exists())
            seen.append((race.folder / "model_new.py").read_text()[:4])
            return super().respond(messages, tools)

    race(writes("70"), Late())
    assert seen == ["# 70"]


def test_the_best_is_measured_once_more_against_the_luck_of_many(race, writes, say):
    done = race(writes("100"), writes("40"))
    last = race.judge.asked[-1]
    assert last[0] == "measure"
    assert last[1] == done.trajectory.best.candidate
    finals = [event for event in race.heard.run if getattr(event, "tool", "") == "final"]
    assert len(finals) == 1


def test_if_the_best_fails_then_the_next_counts(race, writes, say, task):
    calls = []

    class Moody(say.Judge):
        def measure(self, candidate):
            calls.append(candidate.text("model_new.py")[:4])
            if calls.count("# 40") > 2:
                candidate = Candidate.of({"model_new.py": "# wrong\n"})
            return super().measure(candidate)

    race.judge = Moody()
    done = race(writes("100"), writes("40"))
    assert done.winner == 1
    assert (race.folder / "model_new.py").read_text().startswith("# 100")


def test_what_was_spent_adds_up(race, writes):
    spent = Cost(prompt_tokens=10, completion_tokens=1, usd=0.25)
    done = race(writes("100", cost=spent), writes("40", "50", cost=spent))
    assert done.trajectory.cost.usd == 5 * 0.25
    assert done.trajectory.cost.prompt_tokens == 50
    assert race.log()[-1].num_turns == 5


def test_one_attempts_failure_does_not_end_the_others(race, writes, say):
    done = race(say.Reciter(say.infra_error), writes("40"), say.Reciter(UsageError("no such model")))
    assert done.winner == 2
    assert [attempt.has_failed for attempt in done.attempts] == [True, False, True]
    assert done.attempts[2].reason == "no such model"
    assert done.trajectory.stop is StopReason.FINISHED


def test_a_judge_that_fails_is_opened_anew_for_the_others(race, writes, say, task):
    opened = []

    class Breaks(say.Judge):
        def measure(self, candidate):
            if candidate.text("model_new.py").startswith("# 13"):
                raise InfraError("the GPU has fallen off the bus")
            return super().measure(candidate)

    config = OptimizeConfig(device=select_device("cpu"), folder=race.folder)

    def open_one(*arguments):
        opened.append(Breaks())
        return say.bench_of(opened[-1])(*arguments)

    done = optimize_many(
        task, [maker(writes("13")), maker(writes("40"))], config, race.heard, Judges(opened=open_one)
    )
    assert done.winner == 2
    assert done.attempts[0].reason == "the GPU has fallen off the bus"
    assert len(opened) == 3


@pytest.mark.parametrize(
    ("errors", "kind"),
    [
        ((InfraError("a"), InfraError("b")), InfraError),
        ((UsageError("no model"), UsageError("no model")), UsageError),
        ((EnvironmentMissing("pip install x"), EnvironmentMissing("y")), EnvironmentMissing),
        ((UsageError("no model"), InfraError("b")), InfraError),
    ],
)
def test_if_all_fail_the_run_fails_with_every_reason(race, say, errors, kind):
    with pytest.raises(kind, match=r"all attempts failed: 1: .*; 2: ") as caught:
        race(*(say.Reciter(error) for error in errors))
    assert type(caught.value) is kind
    assert isinstance(race.log()[-1], Aborted)
    assert isinstance(race.heard.run[-1], Aborted)


def test_an_attempt_that_finds_nothing_has_not_failed(race, writes):
    done = race(writes("wrong"), writes("broken"))
    assert done.trajectory.best is None
    assert done.winner is None
    assert not (race.folder / "model_new.py").exists()
    assert race.log()[-1].reason.startswith("nothing found; ")


def test_a_bug_of_ours_is_not_taken_for_an_attempts_failure(race, writes, say):
    with pytest.raises(ZeroDivisionError):
        race(writes("40"), say.Reciter(ZeroDivisionError("oh")))


def test_a_policy_that_cannot_be_made_leaves_no_folder(race):
    def make():
        raise UsageError("there is no such policy")

    with pytest.raises(UsageError, match="no such policy"):
        race(Maker(make=make))
    assert not race.folder.exists()
    with pytest.raises(UsageError, match="nobody"):
        race()


def test_a_task_that_cannot_be_judged_leaves_no_folder(race, writes, task):
    def opened(task, config):
        raise TaskError("the reference raises")

    config = OptimizeConfig(device=select_device("cpu"), folder=race.folder)
    with pytest.raises(TaskError, match="reference raises"):
        optimize_many(task, [maker(writes("40"))], config, race.heard, Judges(opened=opened))
    assert not (race.folder / "trajectory.jsonl").exists()


def test_money_is_one_cap_for_all(race, writes):
    race.budget = Budget(max_usd=1.0)
    words = [str(100 - number) for number in range(20)]
    done = race(*(writes(*words, cost=Cost(usd=0.25)) for _ in range(4)))
    assert {attempt.stop for attempt in done.attempts} == {StopReason.MONEY}
    assert 1.0 <= done.trajectory.cost.usd <= 1.0 + 3 * 0.25


def test_turns_are_each_attempts_own(race, writes):
    race.budget = Budget(max_turns=2)
    done = race(writes("90", "80", "70"), writes("60", "50", "40"))
    assert [attempt.num_turns for attempt in done.attempts] == [2, 2]


def test_each_attempt_can_be_resumed_with_its_own_policy(race, say):
    config = PolicyConfig(sampling=Sampling(seed=7))
    makers = [
        Maker(make=say.Reciter, policy=f"openai:m{number}", policy_config=seeded(config, number))
        for number in (1, 2)
    ]
    race(*makers)
    for number in (1, 2):
        asked = race.log(number)[0].config
        assert asked["policy"] == f"openai:m{number}"
        assert asked["policy_config"]["sampling"]["seed"] == 6 + number


def test_a_seed_is_only_changed_where_there_is_one():
    assert seeded(PolicyConfig(), 3) == PolicyConfig()


def test_an_audience_hears_one_thing_at_a_time_and_of_which_attempt(race, writes):
    inside = []

    class Strict(Heard):
        def on_attempt(self, attempt, event):
            self.on_event(event)
            super().on_attempt(attempt, event)

        def on_event(self, event):
            inside.append(threading.get_ident())
            time.sleep(0.0001)
            assert len(set(inside)) == 1
            inside.pop()
            super().on_event(event)

    race.heard = Strict()
    race(*(writes("100", "90") for _ in range(4)))
    assert {attempt for attempt, _ in race.heard.attempts} == {1, 2, 3, 4}


def test_only_what_is_better_than_all_before_is_told_of_the_run(race, writes):
    race(*(writes("100", "90", "95", "80") for _ in range(3)))
    times = [
        event.solution.verdict.timing.candidate.median_us
        for event in race.heard.run
        if isinstance(event, Improved)
    ]
    assert times == sorted(set(times), reverse=True)


@pytest.mark.parametrize(("name", "most"), [("builtin", 1), ("local:m", 1), ("openai:m", 3)])
def test_policies_that_compute_in_this_process_take_turns(race, say, name, most):
    """Two tracings at once: torch refuses the second, and the builtin policy declined the task for it."""
    thinking, seen = [], []

    class Thinks(say.Reciter):
        def respond(self, messages, tools):
            thinking.append(1)
            time.sleep(0.1)
            seen.append(len(thinking))
            thinking.pop()
            return super().respond(messages, tools)

    policies = [Thinks() for _ in range(3)]
    for policy in policies:
        policy.name = name
    race(*policies)
    assert max(seen) == most


def candidate(word):
    return Candidate.of({"model_new.py": f"# {word}\nx = 1\n"})


def wait_for(condition):
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.002)
    raise AssertionError("it did not come")


# Ctrl-C


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_once_ends_every_attempt_after_its_step_and_measures_the_best(race, writes, say):
    pressed = threading.Event()

    class Presses(say.Judge):
        def measure(self, given):
            if not pressed.is_set():
                pressed.set()
                press_ctrl_c()
                time.sleep(0.05)
            return super().measure(given)

    race.judge = Presses()
    words = [str(500 - number) for number in range(300)]
    done = race(*(writes(*words) for _ in range(3)))
    assert {attempt.stop for attempt in done.attempts} == {StopReason.INTERRUPTED}
    assert done.trajectory.stop is StopReason.INTERRUPTED
    assert done.trajectory.best is not None
    assert json.loads((race.folder / "verdict.json").read_text())["is_final"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_twice_stops_all_at_once_and_keeps_the_best(race, writes, say):
    """One attempt has a program, one waits for the judge, one for its model, which nothing can interrupt."""
    never = threading.Event()

    class Hangs(say.Judge):
        def measure(self, given):
            if given.text("model_new.py").startswith("# 60"):
                never.wait(20)
            return super().measure(given)

    class Deaf(say.Reciter):
        def respond(self, messages, tools):
            never.wait(20)
            return super().respond(messages, tools)

    class Follows(say.Reciter):
        def respond(self, messages, tools):
            wait_for(lambda: (race.folder / "model_new.py").exists())
            return super().respond(messages, tools)

    class Presses(say.Reciter):
        def respond(self, messages, tools):
            if len(messages) > 2:
                wait_for(lambda: any(given == candidate(60) for _, given in race.judge.asked))
                press_ctrl_c()
                wait_for(lambda: any("Ctrl-C" in getattr(event, "what", "") for event in race.heard.run))
                press_ctrl_c()
                time.sleep(0.05)
            return super().respond(messages, tools)

    race.judge = Hangs()
    presses = Presses(say.reply(say.program("70"), say.call("profile")), say.reply(say.call("profile")))
    begun_s = time.monotonic()
    done = race(presses, Follows(say.reply(say.program("60"), say.call("profile"))), Deaf())
    assert time.monotonic() - begun_s < 10
    assert done.trajectory.stop is StopReason.INTERRUPTED
    assert done.trajectory.best.candidate.text("model_new.py").startswith("# 70")
    assert isinstance(race.log()[-1], Finished)
    assert isinstance(race.log(1)[-1], Finished)
    assert done.attempts[2].stop is None
    assert "did not stop in time" in done.attempts[2].reason
    never.set()
    wait_for(lambda: isinstance(race.log(3)[-1], Finished))


# The whole way

SCALE = """
import torch
class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
    def forward(self, x): return x * self.weight
def get_init_inputs(): return [33]
def get_inputs(): return [torch.randn(7, 33)]
"""


@pytest.mark.slow
def test_three_attempts_with_a_real_judge_share_its_process_and_their_builds(tmp_path, monkeypatch, say):
    monkeypatch.setenv("WARPSMITH_CACHE", str(tmp_path / "cache"))
    files = dict(
        re.findall(r"`(kernels/scale\.cu|model_new\.py)`\n```\w+\n(.*?)```", skill_text(), re.DOTALL)
    )
    wrong = files | {"kernels/scale.cu": files["kernels/scale.cu"].replace("i < count", "i < count - 1")}

    def policy(program):
        writes = [say.call("write", path=path, text=text) for path, text in program.items()]
        return maker(say.Reciter(say.reply(*writes, say.call("compile"), say.call("profile"))))

    heard = Heard()
    config = OptimizeConfig(device=select_device("cpu"), folder=tmp_path / "run")
    done = optimize_many(
        Task(task_id="scale", source=SCALE, provenance="test"),
        [policy(files), policy(wrong), policy(files)],
        config,
        heard,
    )
    assert [attempt.best is not None for attempt in done.attempts] == [True, False, True]
    assert isinstance(done.trajectory.best.verdict, Passed)
    assert done.environment["gpu"] == config.device.gpu.name
    assert len(list((tmp_path / "cache" / "entries").glob("*/*"))) == 2, "one for each program"
    ledger = (done.folder / "attempts" / "1" / "ledger.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in ledger]
    assert [row["item"] for row in rows] == ["turn", "turn", "final"]
    assert [row["gpu_s"] for row in rows] == [0.0, 0.0, 0.0], "the cpu device has no GPU to hold"
