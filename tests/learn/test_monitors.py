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
