"""Ratios of paired samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core import Ratio, Speed
from warpsmith.judge.clock.statistics import exact_ratio, half_width, median_ratio, product, widened

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


def drifting(rng, num_rounds, strength):
    """Times of two equal programs in the same rounds, on a GPU whose speed wanders."""
    drift = np.exp(np.cumsum(rng.normal(0, strength, num_rounds)))
    return tuple(100 * drift * np.exp(rng.normal(0, 0.01, num_rounds)) for _ in range(2))


@pytest.mark.parametrize("strength", [0.0, 0.01, 0.05])
def test_equal_programs_are_called_faster_in_few_runs_however_the_gpu_drifts(strength):
    rng = np.random.default_rng(3)
    faster = 0
    for _ in range(400):
        null = widened(median_ratio(*drifting(rng, 15, strength), rng, num_resamples=300), 0.01)
        margin = max(null.high - 1.0, 1.0 - null.low)
        found = median_ratio(*drifting(rng, 15, strength), rng, num_resamples=300)
        faster += found.speed(margin) is Speed.FASTER
    assert faster <= 4  # 1 %


@pytest.mark.parametrize("effect", [1.05, 1.2])
def test_a_real_effect_is_found_under_the_same_drift(effect):
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(100):
        baseline, candidate = drifting(rng, 15, 0.05)
        ratio_found = median_ratio(effect * baseline, candidate, rng, num_resamples=300)
        found += ratio_found.speed(0.025) is Speed.FASTER
    assert found >= 90


RATIOS = (
    st.floats(0.1, 10.0)
    .flatmap(lambda centre: st.tuples(st.just(centre), st.floats(0.0, 0.5), st.floats(0.0, 0.5)))
    .map(lambda item: Ratio(centre=item[0], low=item[0] * (1 - item[1]), high=item[0] * (1 + item[2])))
)


@given(RATIOS, RATIOS)
@settings(max_examples=60, deadline=None)
def test_a_product_of_ratios_is_no_narrower_than_either(first, second):
    both = product(first, second)
    assert both.low <= both.centre <= both.high
    assert both.centre == pytest.approx(first.centre * second.centre)
    assert half_width(both) >= max(half_width(first), half_width(second)) - 1e-9


@given(RATIOS, st.floats(0.0, 0.2))
@settings(max_examples=60, deadline=None)
def test_a_widened_interval_keeps_its_centre(one, share):
    wide = widened(one, share)
    assert wide.centre == one.centre
    assert half_width(wide) == pytest.approx(half_width(one) + share)
