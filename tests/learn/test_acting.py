"""Agents in threads, drawn together, judged for real by a fake judge."""

from contextlib import contextmanager
from threading import Thread

import pytest

from warpsmith.agent import Budget
from warpsmith.agent.optimize import Bench, OptimizeConfig
from warpsmith.core import BuildFailed, InfraError, Task, UsageError, Wrong
from warpsmith.device import select_device
from warpsmith.learn.acting import Acting
from warpsmith.learn.acting.chorus import Chorus
from warpsmith.learn.grading import Grading
from warpsmith.learn.recorded import Shelf
from warpsmith.learn.rewards import Milestone
from warpsmith.policy import Sampling
from warpsmith.policy.local import TokenOutput
from warpsmith.sandbox import pick

SOURCE = "class Model: ...\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"
TASKS = tuple(Task(task_id=name, source=SOURCE + f"# {name}\n", provenance="test") for name in ("one", "two"))


class Echo:
    """Draws the last id and the end, and remembers who was drawn beside whom."""

    def __init__(self, failure=None):
        self.rounds = []
        self.seeds = []
        self.failure = failure

    def generate(self, prompts, sampling):
        self.rounds.append([tuple(ids) for ids in prompts])
        self.seeds.append(sampling.seed)
        if self.failure is not None:
            raise self.failure
        return tuple(TokenOutput(ids=(ids[-1], 2), logprobs=(-1.0, -1.0), is_cut=False) for ids in prompts)


def sung(chorus, *lines):
    """Each voice says its lines in turn, then leaves; what it heard."""
    heard = [[] for _ in lines]

    def sing(voice):
        try:
            heard[voice] += [chorus.speak(voice, ids).ids for ids in lines[voice]]
        except InfraError as error:
            heard[voice].append(str(error))
        finally:
            chorus.leave(voice)

    threads = [Thread(target=sing, args=(voice,)) for voice in range(len(lines))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    return heard


def test_all_that_wait_are_drawn_at_once():
    echo = Echo()
    heard = sung(Chorus(echo, Sampling(seed=7), 3), [(1,), (4,)], [(2,)], [(3,), (5,), (6,)])
    assert echo.rounds == [[(1,), (2,), (3,)], [(4,), (5,)], [(6,)]]
    assert heard == [[(1, 2), (4, 2)], [(2, 2)], [(3, 2), (5, 2), (6, 2)]]
    assert len(set(echo.seeds)) == 3


def test_a_voice_that_says_nothing_keeps_nobody_waiting():
    assert sung(Chorus(Echo(), Sampling(), 2), [], [(2,)]) == [[], [(2, 2)]]


def test_when_drawing_fails_all_hear_of_it():
    chorus = Chorus(Echo(RuntimeError("out of memory")), Sampling(), 2)
    assert sung(chorus, [(1,)], [(2,)]) == [["nothing could be drawn: out of memory"]] * 2


class Judge:
    held_s = 0.0

    def __init__(self, verdict):
        self.verdict = verdict

    def build(self, candidate):
        return BuildFailed(log="no")

    def verify(self, candidate):
        return self.verdict

    def measure(self, candidate):
        if isinstance(self.verdict, BaseException):
            raise self.verdict
        return self.verdict


def acting(reader, folder, *, verdict=None, opened=None, max_turns=2, **how):
    verdict = verdict or Wrong(what="values", message="off")

    @contextmanager
    def bench(task):
        yield Bench(
            task=task,
            judge=Judge(verdict),
            sandbox=pick("process"),
            device=select_device("cpu"),
            environment={},
        )

    return Acting(
        tasks=TASKS,
        opened=opened or bench,
        config=OptimizeConfig(device=select_device("cpu"), budget=Budget(max_turns=max_turns)),
        shelf=Shelf(template=reader.template, grading=Grading(rule=Milestone())),
        context_tokens=reader.context_tokens,
        runs=folder,
        **({"tasks_per_step": 2, "samples_per_task": 2} | how),
    )


SAMPLING = Sampling(temperature=1.0, max_tokens=4, seed=3)


@pytest.mark.slow
def test_episodes_of_a_step_are_samples_with_rewards(reader, tmp_path):
    source = acting(reader, tmp_path / "runs", samples_per_task=1, max_turns=1)
    samples = source.rollouts(reader.engine(), SAMPLING, 1)
    assert sorted({sample.group for sample in samples}) == ["1/one", "1/two"]
    assert {sample.reward for sample in samples} == {-1.0}
    assert sorted(path.name for path in (tmp_path / "runs" / "000001").iterdir()) == ["0000", "0001"]
    assert all(sample.logprobs is not None for sample in samples)


@pytest.mark.slow
def test_a_step_that_is_taken_again_draws_the_same(reader, tmp_path):
    source = acting(reader, tmp_path / "runs", samples_per_task=1)
    one = source.rollouts(reader.engine(), SAMPLING, 1)
    again = source.rollouts(reader.engine(), SAMPLING, 1)
    assert [sample.ids for sample in one] == [sample.ids for sample in again]
    other = source.rollouts(reader.engine(), SAMPLING, 2)
    assert [sample.ids for sample in other] != [sample.ids for sample in one]


def test_a_task_that_cannot_be_judged_ends_the_step(reader, tmp_path):
    @contextmanager
    def broken(_task):
        raise UsageError("the reference fails")
        yield

    with pytest.raises(UsageError, match="the reference fails"):
        acting(reader, tmp_path / "runs", opened=broken).rollouts(reader.engine(), SAMPLING, 1)


def test_when_nothing_can_be_drawn_there_are_no_samples(reader, tmp_path):
    echo = Echo(RuntimeError("out of memory"))
    assert acting(reader, tmp_path / "runs").rollouts(echo, SAMPLING, 1) == ()


@pytest.mark.slow
def test_a_student_learns_from_its_episodes(reader, tmp_path):
    """One step of PPO over real agents: what they drew is what the trainer finds again."""
    from dataclasses import replace

    from warpsmith.learn.engines.local import critic as critics
    from warpsmith.learn.engines.local.ppo import Ppo
    from warpsmith.learn.metrics import Metric
    from warpsmith.learn.recipes import toy

    config = replace(toy.ppo(), sampling=SAMPLING)
    source = acting(reader, tmp_path / "runs", samples_per_task=1)
    metrics = Ppo(reader, critics.fresh(reader.model), source, config).step(1)
    assert metrics[Metric.UPDATED] == 1.0
    assert metrics[Metric.MISMATCH] < 1e-4
    assert metrics[Metric.PASS_RATE] == 0.0


@pytest.mark.parametrize("how", [{"tasks_per_step": 0}, {"samples_per_task": 0}])
def test_a_source_without_work_is_refused(reader, tmp_path, how):
    with pytest.raises(UsageError, match="acting needs"):
        acting(reader, tmp_path, **how)
