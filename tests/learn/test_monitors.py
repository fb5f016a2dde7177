"""When training stops."""

import math

import pytest

from warpsmith.learn.metrics import Metric
from warpsmith.learn.monitors import RULES, Limits, alarm, is_sound

LIMITS = Limits(patience=3)


def history(metric, *values):
    return [{metric: value} for value in values]


@pytest.mark.parametrize(
    ("rule", "metric", "values"),
    [
        ("not finite", Metric.LOSS, (1.0, math.nan)),
        ("not finite", Metric.GRAD_NORM, (math.inf,)),
        ("not finite", Metric.KL, (0.1, math.nan)),
        ("not finite", Metric.CLIPPED, (math.nan,)),
        ("mismatch", Metric.MISMATCH, (0.0, 0.5)),
        ("entropy grows", Metric.ENTROPY, (1.0, 1.0, 1.0, 1.5, 3.1, 3.2, 3.3)),
        ("critic worse than a constant", Metric.EXPLAINED_VARIANCE, (0.9, -2.0, -3.0, -8.0)),
        ("clipped", Metric.CLIPPED, (0.6, 0.7, 0.8)),
        ("ratio", Metric.MAX_LOG_RATIO, (9.0, 9.0, 20.0)),
        ("truncated", Metric.TRUNCATED, (0.1, 0.6, 0.6, 0.6)),
        ("pass rate falls", Metric.PASS_RATE, (0.9, 0.9, 0.9, 0.5, 0.2, 0.1, 0.2)),
    ],
)
def test_each_rule_has_what_breaks_it(rule, metric, values):
    found = alarm(history(metric, *values), LIMITS)
    assert found.rule == rule
    assert rule in RULES


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        (Metric.ENTROPY, (1.0, 1.0, 1.0, 0.1, 0.001)),  # falling is learning
        (Metric.ENTROPY, (0.001, 0.001, 0.001, 0.01, 0.02, 0.03)),  # a factor of nearly nothing
        (Metric.ENTROPY, (5.0, 5.0)),
        (Metric.EXPLAINED_VARIANCE, (-2.0, 0.1, -3.0, -8.0)),  # not three in a row
        (Metric.CLIPPED, (0.9, 0.9)),
        (Metric.TRUNCATED, (0.6, 0.4, 0.6)),
        (Metric.PASS_RATE, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)),  # never better
        (Metric.PASS_RATE, (0.2, 0.5, 0.9, 1.0, 1.0, 0.9)),
        (Metric.MISMATCH, (0.01, 0.1)),
    ],
)
def test_what_is_no_collapse_rings_no_alarm(metric, values):
    assert alarm(history(metric, *values), LIMITS) is None


def test_a_critic_is_not_judged_where_returns_hardly_vary():
    """Steps without the metric break a row."""
    steps = [{Metric.EXPLAINED_VARIANCE: -5.0}, {Metric.EXPLAINED_VARIANCE: -5.0}, {Metric.LOSS: 0.0}]
    assert alarm(steps, LIMITS) is None
    alike = [{Metric.EXPLAINED_VARIANCE: -500.0, Metric.REWARD_DEVIATION: 0.1}] * 3
    assert alarm(alike, LIMITS) is None
    varied = [{Metric.EXPLAINED_VARIANCE: -500.0, Metric.REWARD_DEVIATION: 1.0}] * 3
    assert alarm(varied, LIMITS).rule == "critic worse than a constant"


def test_the_message_has_the_numbers():
    found = alarm(history(Metric.TRUNCATED, 0.6, 0.7, 0.8), LIMITS)
    assert found.message == "truncated is above 0.5 for 3 steps: 0.6, 0.7, 0.8"


@pytest.mark.parametrize(("mismatch", "sound"), [(0.0, True), (0.2, True), (0.21, False), (math.nan, False)])
def test_nothing_is_learnt_from_tokens_that_were_not_drawn(mismatch, sound):
    assert is_sound({Metric.MISMATCH: mismatch}, LIMITS) is sound


def test_a_policy_that_is_certain_of_what_fails_has_collapsed():
    def steps(entropy, pass_rate):
        return [{Metric.ENTROPY: entropy, Metric.PASS_RATE: pass_rate}] * 3

    assert alarm(steps(1e-4, 0.0), LIMITS).rule == "certain and wrong"
    assert alarm(steps(1e-4, 0.9), LIMITS) is None  # it has learnt its task
    assert alarm(steps(0.5, 0.0), LIMITS) is None  # it has not found anything yet
    assert alarm([{Metric.ENTROPY: 1e-4}] * 3, LIMITS) is None  # nobody says what passes


def test_a_judge_that_tells_nothing_stops_the_run():
    told = {Metric.UNREWARDED: 6.0, Metric.SAMPLES: 8.0}
    assert alarm([told] * 3, LIMITS).rule == "nothing rewarded"
    assert alarm([told] * 2, LIMITS) is None
    assert alarm([told, told, {Metric.UNREWARDED: 0.0, Metric.SAMPLES: 8.0}], LIMITS) is None
    assert alarm([{Metric.UNREWARDED: 0.0, Metric.SAMPLES: 0.0}] * 3, LIMITS) is None


@pytest.mark.parametrize(
    ("metric", "values", "since"),
    [
        (Metric.LOSS, (1.0, 1.0, math.nan), 3),
        (Metric.MISMATCH, (0.0, 0.5), 2),
        (Metric.TRUNCATED, (0.1, 0.2, 0.6, 0.7, 0.8), 3),
        (Metric.PASS_RATE, (0.9, 0.9, 0.9, 0.5, 0.2, 0.1, 0.2), 5),
    ],
)
def test_an_alarm_names_the_first_step_that_broke_its_rule(metric, values, since):
    """A checkpoint of a later step than the one before it holds what the rule is about."""
    assert alarm(history(metric, *values), LIMITS).since == since
