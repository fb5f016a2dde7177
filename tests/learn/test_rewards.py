"""What a verdict earns, and when it earns nothing."""

import math

import pytest

from warpsmith.core import (
    BuildFailed,
    Crashed,
    Implausible,
    InfraError,
    NotRunnable,
    Passed,
    Provenance,
    Rejected,
    TimedOut,
    UsageError,
    Wrong,
)
from warpsmith.learn.rewards import (
    REWARDS,
    Kevin,
    Milestone,
    Missing,
    NoReward,
    Reward,
    Shaped,
    ShapedAsCoded,
    SpeedUp,
    discounted,
    make_rule,
    rewarded,
)
from warpsmith.learn.rubric import Dimension, Scores, neutral

FAILURES = (
    Rejected(rule="patch", where="model_new.py:1", message="patches torch"),
    BuildFailed(log="error"),
    Crashed(stage="forward", log="died"),
    Wrong(what="values", message="off"),
    TimedOut(stage="forward", limit_s=10.0),
)
REFUSED = {
    Missing.NOT_RUNNABLE: NotRunnable(device="cpu", reason="wgmma"),
    Missing.IMPLAUSIBLE: Implausible(message="under the floor"),
}


def scores(levels=(3, 3, 3, 3), **how):
    return Scores(levels=dict(zip(Dimension, levels, strict=True)), **how)


@pytest.mark.parametrize(
    ("eager", "compiled", "value"),
    [
        (0.5, 0.5, 1.0),
        (1.05, 0.9, 1.0),  # saves 4.8 % of eager's time, not 5 %
        (1.0527, 0.9, 2.0),
        (2.0, 1.05, 2.0),
        (2.0, 1.0527, 3.0),
        (2.0, None, 2.0),  # torch.compile fails: nothing to be faster than
        (1.0, 1.5, 1.0),  # 3 needs both
    ],
)
def test_milestones_are_five_percent_of_the_baselines_time(made, eager, compiled, value):
    outcome = Milestone().reward(made.passed(eager, compiled))
    assert outcome.value == value
    assert outcome.parts["correct"] == 1.0


def test_the_centre_decides_not_the_interval(made):
    wide = made.passed(against_eager=made.ratio(1.2, 0.8, 1.9), against_compile=made.ratio(1.2, 0.8, 1.9))
    assert Milestone().reward(wide).value == 3.0


@pytest.mark.parametrize("verdict", FAILURES, ids=lambda verdict: type(verdict).__name__)
def test_a_failure_of_the_program_is_the_least(verdict):
    assert Milestone().reward(verdict) == Reward(value=-1.0, parts={"correct": 0.0})
    assert SpeedUp().reward(verdict).value == -1.0
    assert Kevin().reward(verdict).value == 0.0
    assert Shaped().reward(verdict).value == 0.0
    assert ShapedAsCoded().reward(verdict).value == 0.0


@pytest.mark.parametrize("name", sorted(REWARDS))
def test_a_measurement_that_says_nothing_is_no_reward(made, name):
    rule = make_rule(name)
    for reason, verdict in REFUSED.items():
        assert rule.reward(verdict, scores()).reason is reason
    unsettled = made.passed(trouble="the GPU slows itself down")
    assert rule.reward(unsettled, scores()).reason is Missing.UNSETTLED
    assert rule.reward(Passed(accuracy=made.accuracy), scores()).reason is Missing.UNTIMED


@pytest.mark.parametrize("name", sorted(REWARDS))
@pytest.mark.parametrize("centre", [math.nan, math.inf, 0.0, -1.0])
def test_a_ratio_that_is_no_number_is_no_reward(made, name, centre):
    outcome = make_rule(name).reward(made.passed(against_compile=made.ratio(centre)), scores())
    assert isinstance(outcome, NoReward)


@pytest.mark.parametrize("name", sorted(REWARDS))
def test_modelled_times_mark_the_reward(made, name):
    modelled = made.passed(provenance=Provenance.MODELLED)
    assert make_rule(name).reward(modelled, scores()).is_modelled
    assert not make_rule(name).reward(made.passed(), scores()).is_modelled


def test_speedup_is_against_torch_compile_where_it_works(made):
    assert SpeedUp().reward(made.passed(2.0, 1.5)).value == 1.5
    assert SpeedUp().reward(made.passed(2.0, None)).value == 2.0
    assert SpeedUp(baseline="eager").reward(made.passed(2.0, 1.5)).value == 2.0


def test_kevin_adds_a_bonus_for_being_right(made):
    outcome = Kevin().reward(made.passed(2.0))
    assert outcome.value == pytest.approx(2.3)
    assert outcome.parts == {"correct": 1.0, "bonus": 0.3, "speedup": 2.0}


def test_later_turns_are_worth_less_the_later_they_are():
    turns = [Reward(value=value, parts={}) for value in (0.0, 1.0, 2.0)]
    assert [turn.value for turn in discounted(turns)] == pytest.approx([0.0 + 0.4 + 0.32, 1.8, 2.0])
    assert [turn.value for turn in discounted(turns, 0.0)] == [0.0, 1.0, 2.0]


def test_a_turn_before_an_unknown_one_is_unknown():
    lost = NoReward(reason=Missing.INFRA, message="no GPU")
    one, two = Reward(value=1.0, parts={}), Reward(value=2.0, parts={})
    assert discounted([one, lost, two])[:2] == (lost, lost)
    assert discounted([one, lost, two])[2].value == 2.0
    assert discounted([one, lost], 0.0) == (one, lost)


@pytest.mark.parametrize(
    ("levels", "speedup", "value"),
    [
        ((3, 3, 3, 3), 1.0, 1.3),  # neutral bends nothing
        ((5, 5, 5, 5), 1.0, 1.3 * 1.5),
        ((1, 1, 1, 1), 1.0, 1.3 * 0.5),
        ((5, 4, 3, 2), 2.0, 2.3 * (1 + (14 - 4) / 16 - 0.5)),
        ((5, 5, 5, 5), 100.0, 5.0),  # cut at the end
    ],
)
def test_the_rubric_bends_the_speedup(made, levels, speedup, value):
    assert Shaped().reward(made.passed(speedup), scores(levels)).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("levels", "speedup", "lam", "value"),
    [
        ((3, 3, 3, 3), 1.0, 1.0, 1.3),
        ((5, 5, 5, 5), 1.0, 1.0, 1.95),
        ((5, 5, 5, 5), 1.0, 0.7, 1.3 * 1.35),
        ((1, 1, 1, 1), 100.0, 1.0, 5.3 * 0.5),  # the speed-up is cut first
        ((3, 3, 3, 3), 100.0, 1.0, 3.0),
    ],
)
def test_as_coded_cuts_the_speedup_first(made, levels, speedup, lam, value):
    outcome = ShapedAsCoded(lam=lam).reward(made.passed(speedup), scores(levels))
    assert outcome.value == pytest.approx(value)


def test_a_cheat_earns_nothing_however_fast(made):
    hack = scores((1, 5, 5, 5), is_hack=True, evidence="return self.cache")
    for rule in (Shaped(), ShapedAsCoded()):
        outcome = rule.reward(made.passed(4.0), hack)
        assert outcome.value == 0.0
        assert outcome.parts["hack"] == 1.0
        assert outcome.parts["speedup"] == 4.0


def test_the_parts_stay_beside_the_sum(made):
    parts = Shaped().reward(made.passed(2.0), scores((5, 4, 3, 2))).parts
    assert parts["anti_hacking"] == 5.0
    assert parts["compliance"] == 2.0
    assert parts["rubric"] == pytest.approx(0.125)
    assert Shaped().reward(made.passed(2.0), neutral("nobody answered")).parts["is_neutral"] == 1.0


def test_a_rule_that_needs_a_rubric_says_so(made):
    with pytest.raises(UsageError, match="needs the scores of a rubric"):
        Shaped().reward(made.passed())


def test_our_failure_is_no_reward(made):
    def broken():
        raise InfraError("the driver is gone")

    assert rewarded(broken, Milestone()) == NoReward(reason=Missing.INFRA, message="the driver is gone")
    assert rewarded(lambda: made.passed(), Milestone()).value == 3.0


def test_the_rubric_is_asked_only_about_what_passed(made):
    asked = []

    def rubric(verdict):
        asked.append(verdict)
        return scores()

    rewarded(lambda: made.failed, Shaped(), rubric)
    rewarded(lambda: made.passed(), Milestone(), rubric)
    assert asked == []
    assert rewarded(lambda: made.passed(2.0), Shaped(), rubric).value == pytest.approx(2.3)
    assert len(asked) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: make_rule("speed"),
        lambda: Milestone(margin=1.5),
        lambda: SpeedUp(baseline="torch"),
        lambda: Kevin(baseline="fastest"),
        lambda: discounted([], 1.5),
    ],
)
def test_what_makes_no_sense_is_refused(make):
    with pytest.raises(UsageError):
        make()
