"""Advantages within groups."""

import math

import pytest

from warpsmith.learn.losses.groups import Baseline, group_advantages


def test_a_group_is_centred_and_scaled():
    found = group_advantages([1.0, 2.0, 3.0], ["a"] * 3)
    assert found.values == pytest.approx((-1.0, 0.0, 1.0), abs=1e-5)


def test_groups_do_not_mix():
    found = group_advantages([0.0, 10.0, 1.0, 11.0], ["a", "b", "a", "b"])
    half = math.sqrt(0.5)
    assert found.values == pytest.approx((-half, -half, half, half), abs=1e-5)


def test_leave_one_out_holds_each_against_the_others():
    found = group_advantages([1.0, 2.0, 6.0], ["a"] * 3, baseline=Baseline.OTHERS, by_deviation=False)
    assert found.values == (1.0 - 4.0, 2.0 - 3.5, 6.0 - 1.5)


def test_without_the_deviation_the_difference_stays():
    assert group_advantages([1.0, 3.0], ["a"] * 2, by_deviation=False).values == (-1.0, 1.0)


@pytest.mark.parametrize("baseline", Baseline)
def test_equal_rewards_give_no_gradient(baseline):
    found = group_advantages([2.0, 2.0, 1.0, 3.0], ["a", "a", "b", "b"], baseline=baseline)
    assert found.values[:2] == (None, None)
    assert found.num_silent_groups == 1
    assert found.num_used == 2


@pytest.mark.parametrize("missing", [None, math.nan, math.inf])
def test_a_sample_without_a_reward_leaves_its_group(missing):
    found = group_advantages([1.0, missing, 3.0], ["a"] * 3)
    half = math.sqrt(0.5)
    assert found.values[1] is None
    assert (found.values[0], found.values[2]) == pytest.approx((-half, half), abs=1e-5)
    assert found.num_unrewarded == 1


def test_a_group_of_one_teaches_nothing():
    found = group_advantages([5.0, None, None], ["a", "b", "b"])
    assert found.values == (None, None, None)
    assert found.num_silent_groups == 2


def test_no_samples_are_no_groups():
    assert group_advantages([], []).num_silent_groups == 0


def test_every_reward_needs_its_group():
    with pytest.raises(ValueError, match="zip"):
        group_advantages([1.0], [])
