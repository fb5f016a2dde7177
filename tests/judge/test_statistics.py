"""Ratios of paired samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core import Speed
from warpsmith.judge.statistics import exact_ratio, median_ratio

TIMES = st.lists(st.floats(1.0, 1e6), min_size=1, max_size=30)


def ratio(baseline, candidate):
    return median_ratio(baseline, candidate, np.random.default_rng(0), num_resamples=500)


def test_the_centre_is_the_median_of_the_ratios_of_pairs():
    assert ratio([2.0, 30.0, 8.0], [1.0, 10.0, 2.0]).centre == pytest.approx(3.0)


def test_a_drift_that_slows_both_leaves_no_width():
    drift = np.linspace(1.0, 3.0, 15)
    found = ratio(20.0 * drift, 10.0 * drift)
    assert (found.low, found.centre, found.high) == pytest.approx((2.0, 2.0, 2.0))


def test_equal_programs_with_noise_cannot_be_told_apart():
    noise = np.random.default_rng(1)
    found = ratio(100 + noise.normal(size=21), 100 + noise.normal(size=21))
    assert found.speed() is Speed.CANNOT_TELL
    assert found.low < 1.0 < found.high


def test_the_same_generator_gives_the_same_interval():
    noise = np.random.default_rng(2).normal(size=21)
    assert ratio(100 + noise, 50 - noise) == ratio(100 + noise, 50 - noise)


def test_one_outlier_of_the_baseline_does_not_make_a_candidate_faster():
    assert ratio([100.0] * 14 + [10000.0], [100.0] * 15).centre == 1.0


@given(TIMES, st.floats(0.1, 10.0))
@settings(max_examples=40, deadline=None)
def test_the_interval_holds_the_centre_and_scales_with_the_baseline(times, factor):
    found = ratio(times, times[::-1])
    assert found.low <= found.centre <= found.high
    scaled = ratio([factor * time for time in times], times[::-1])
    assert scaled.centre == pytest.approx(factor * found.centre)


@pytest.mark.parametrize(
    ("baseline", "candidate"),
    [
        ([], []),
        ([1.0], [1.0, 2.0]),
        ([1.0], [0.0]),
        ([1.0], [-1.0]),
        ([float("nan")], [1.0]),
        ([float("inf")], [1.0]),
    ],
)
def test_times_that_cannot_be_are_refused(baseline, candidate):
    with pytest.raises(ValueError, match=r"pair|positive"):
        ratio(baseline, candidate)


def test_exact_times_have_an_exact_ratio():
    found = exact_ratio(30.0, 10.0)
    assert found.low == found.centre == found.high == 3.0
