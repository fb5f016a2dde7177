"""All stages in a row on a tiny model."""

import json
from statistics import fmean

import pytest

from warpsmith.cli.train import toy
from warpsmith.core import BuildFailed, Passed
from warpsmith.learn.metrics import Metric
from warpsmith.learn.rewards import Milestone
from warpsmith.learn.toy.pipeline import Steps, pipeline
from warpsmith.learn.toy.tuning import LETTERS, TASKS, Tuning, answer_to, taught, verdict_on
from warpsmith.policy import Sampling


def test_one_letter_is_fast_and_two_are_good():
    for task in TASKS:
        verdicts = [verdict_on(task, letter) for letter in LETTERS]
        assert sorted(Milestone().reward(verdict).value for verdict in verdicts) == [1, 1, 1, 1, 1, 2, 2, 3]
        assert sorted({answer_to(verdict) for verdict in verdicts}) == ["fast", "good", "slow"]


@pytest.mark.parametrize("reply", ["", "ab", "z", " a", "A", "\x00"])
def test_anything_else_does_not_build(reply):
    assert isinstance(verdict_on("gelu", reply), BuildFailed)
    assert isinstance(verdict_on("gelu", "a"), Passed)


def test_the_same_weights_and_step_give_the_same_samples(student):
    source = Tuning(template=student.template, samples_per_task=2)
    sampling = Sampling(temperature=1.0, max_tokens=4, seed=1)
    one, again = (source.rollouts(student.engine(), sampling, 5) for _ in range(2))
    assert one == again
    assert one != source.rollouts(student.engine(), sampling, 6)
    assert {sample.group for sample in one} == {f"5/{task}" for task in TASKS}


def test_a_teacher_is_right_more_often_than_fast(student):
    samples = taught(student.template, 200, seed=0)
    assert samples == taught(student.template, 200, seed=0)
    assert 1.2 < fmean(sample.reward for sample in samples) < 2.2
    assert any(sample.reward == -1 for sample in samples)


@pytest.mark.slow
def test_reward_rises_from_stage_to_stage(tmp_path, capsys):
    told = pipeline(tmp_path)
    assert [trained.alarm for trained in told.values()] == [None] * 4
    assert list(told) == ["sft", "value", "ppo", "grpo"]

    def means(stage, metric, count=5):
        history = [metrics[metric] for metrics in told[stage].history if metric in metrics]
        return fmean(history[:count]), fmean(history[-count:])

    first_loss, last_loss = means("sft", Metric.LOSS)
    assert last_loss < 0.5 * first_loss
    first_fit, last_fit = means("value", Metric.EXPLAINED_VARIANCE)
    assert last_fit > first_fit + 0.2
    before, after = means("ppo", Metric.REWARD)
    assert after > before + 0.5
    assert means("grpo", Metric.REWARD)[1] > before + 0.5
    capsys.readouterr()
    assert toy.toy(run=tmp_path, json=True) == 0  # all of it is there: nothing is trained again
    assert json.loads(capsys.readouterr().out)["num_steps"] == told["grpo"].num_steps


@pytest.mark.slow
def test_grpo_alone_learns_too(tmp_path):
    from warpsmith.learn.engines.local.grpo import Grpo
    from warpsmith.learn.engines.local.loop import train
    from warpsmith.learn.engines.local.student import student_of
    from warpsmith.learn.recipes.toy import grpo

    pipeline(tmp_path, Steps(value=1, ppo=1, grpo=1))
    student = student_of(tmp_path / "sft" / "final" / "actor")
    told = train(Grpo(student, Tuning(template=student.template), grpo(steps=40)), tmp_path / "more")
    rewards = [metrics[Metric.REWARD] for metrics in told.history]
    assert fmean(rewards[-5:]) > fmean(rewards[:5]) + 0.4
