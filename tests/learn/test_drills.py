"""Collapses made on purpose: the run must stop, say why, and leave a checkpoint from before."""

from dataclasses import replace

import pytest
import torch

from warpsmith.learn.engines.local import critic as critics
from warpsmith.learn.engines.local.loop import train
from warpsmith.learn.engines.local.ppo import Ppo
from warpsmith.learn.engines.local.sft import Sft
from warpsmith.learn.engines.local.student import student_of, write_student
from warpsmith.learn.metrics import Metric
from warpsmith.learn.recipes import toy
from warpsmith.learn.toy.tuning import Tuning, taught
from warpsmith.learn.trajectory import filtered


@pytest.fixture(scope="module")
def imitator(base, tmp_path_factory):
    """The folder of a student that has learnt to answer, and not yet what."""
    student = student_of(base)
    stage = Sft(student, filtered(taught(student.template, 128, seed=0)).samples, toy.sft())
    for number in range(1, 26):
        stage.step(number)
    folder = tmp_path_factory.mktemp("imitator") / "actor"
    write_student(student, folder)
    return folder


class Altered:
    def __init__(self, student, change):
        self._source = Tuning(template=student.template, samples_per_task=4)
        self._change = change

    def rollouts(self, policy, sampling, step):
        return self._change(self._source.rollouts(policy, sampling, step), step)


def unchanged(samples, _step):
    return samples


def run(imitator, folder, *, change=unchanged, poison=None, steps=8, **loop):
    student = student_of(imitator)
    critic = critics.fresh(student.model)
    if poison is not None:
        poison(critic)
    config = toy.ppo(steps=steps)
    config = replace(config, loop=replace(config.loop, save_every=2, **loop))
    before = [parameter.detach().clone() for parameter in student.model.parameters()]
    trained = train(Ppo(student, critic, Altered(student, change), config), folder)
    is_same = all(
        torch.equal(one, other) for one, other in zip(student.model.parameters(), before, strict=True)
    )
    return trained, is_same


@pytest.mark.slow
def test_a_sound_run_rings_no_alarm(imitator, tmp_path):
    trained, _ = run(imitator, tmp_path / "run")
    assert trained.alarm is None
    assert all(metrics[Metric.MISMATCH] < 1e-4 for metrics in trained.history)


def test_a_poisoned_critic_stops_the_run(imitator, tmp_path):
    """A head of large random weights, that learns too slowly to be of use."""

    def poison(critic):
        torch.manual_seed(0)
        torch.nn.init.normal_(critic.score.weight, std=3.0)

    trained, _ = run(imitator, tmp_path / "run", poison=poison)
    assert trained.alarm.rule == "critic worse than a constant"
    assert trained.final is None
    assert trained.last_saved < trained.num_steps < 8
    assert not (tmp_path / "run" / "final").exists()


def shifted(samples, _step):
    """Each span one token early: the first says what the template wrote, and the end of the turn is lost."""
    found = []
    for sample in samples:
        spans = tuple(replace(span, start=span.start - 1, end=span.end - 1) for span in sample.spans)
        found.append(replace(sample, ids=sample.ids[: spans[-1].end], spans=spans))
    return tuple(found)


def test_a_broken_mask_stops_the_run_before_anything_is_learnt(imitator, tmp_path):
    trained, is_same = run(imitator, tmp_path / "run", change=shifted)
    assert trained.alarm.rule == "mismatch"
    assert trained.num_steps == 1
    assert trained.history[0][Metric.UPDATED] == 0.0
    assert is_same


@pytest.mark.slow
def test_samples_of_other_weights_stop_the_run(imitator, tmp_path):
    """As a cache of keys and values gives them that outlived an update."""
    stale = {}

    def old(samples, step):
        return stale.setdefault("first", samples)

    trained, _ = run(imitator, tmp_path / "run", change=old, steps=30)
    assert trained.alarm is not None
    assert trained.alarm.rule in ("mismatch", "ratio", "clipped")


def test_cut_replies_stop_the_run(imitator, tmp_path):
    def cut(samples, _step):
        return tuple(replace(sample, is_truncated=True) for sample in samples)

    trained, _ = run(imitator, tmp_path / "run", change=cut)
    assert trained.alarm.rule == "truncated"


@pytest.mark.slow
def test_an_alarm_rings_again_when_the_run_is_taken_up(imitator, tmp_path):
    first, _ = run(imitator, tmp_path / "run", change=shifted)
    again, _ = run(imitator, tmp_path / "run", change=shifted)
    assert again.alarm == first.alarm
