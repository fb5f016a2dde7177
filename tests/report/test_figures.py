"""Numbers as people read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpsmith.core import Ratio
from warpsmith.report.figures import (
    bytes_text,
    error_text,
    floor_text,
    ratio_text,
    seconds_text,
    speedup_text,
    time_text,
    timing_text,
    tokens_text,
    usd_text,
)


@pytest.mark.parametrize(
    ("time_us", "text"),
    [
        (0.5, "500 ns"),
        (9.994, "9.99 µs"),
        (9.996, "10.0 µs"),
        (12.34, "12.3 µs"),
        (999.4, "999 µs"),
        (999.7, "1.00 ms"),
        (1240.0, "1.24 ms"),
        (2_100_000.0, "2.10 s"),
        (0.0, "0 µs"),
        (math.nan, "nan µs"),
        (math.inf, "inf µs"),
    ],
)
def test_a_time_has_the_unit_that_suits_it(time_us, text):
    assert time_text(time_us) == text


@given(st.floats(min_value=1e-3, max_value=1e9))
def test_a_time_is_shown_with_three_digits_and_stays_true(time_us):
    number, unit = time_text(time_us).split()
    assert float(number) * {"ns": 1e-3, "µs": 1.0, "ms": 1e3, "s": 1e6}[unit] == pytest.approx(
        time_us, rel=6e-3
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (3.21, "3.2 s"),
        (41.4, "41 s"),
        (59.7, "1 min 00 s"),
        (185, "3 min 05 s"),
        (7800, "2 h 10 min"),
    ],
)
def test_a_run_s_length_is_spoken(seconds, text):
    assert seconds_text(seconds) == text


def test_sizes_and_errors():
    assert (bytes_text(512), bytes_text(48 << 10), bytes_text(3 << 29)) == ("512 B", "48.0 KiB", "1.50 GiB")
    assert (error_text(3.14e-7), error_text(0.0)) == ("3.1e-07", "0")


def test_money_shows_cents_and_their_fractions_only_where_there_is_nothing_else():
    assert [usd_text(usd) for usd in (0, 0.0042, 0.25, 1.249, 237.0)] == [
        "0",
        "0.0042",
        "0.25",
        "1.25",
        "237.00",
    ]


def test_tokens_are_told_in_three_digits():
    counts = (0, 812, 999, 1000, 12_345, 999_499, 999_999, 1_240_000)
    texts = ["0", "812", "999", "1.00 k", "12.3 k", "999 k", "1.00 M", "1.24 M"]
    assert [tokens_text(count) for count in counts] == texts


def test_a_ratio_carries_its_interval():
    assert ratio_text(Ratio(centre=1.43, low=1.41, high=1.452)) == "1.43× [1.41, 1.45]"


def test_a_modelled_time_is_never_a_speed_up(make_timing):
    timing = make_timing(measured=False)
    assert speedup_text(timing, timing.against_eager) == "modelled"
    assert timing_text(timing, timing.eager.median_us) == "143 µs (modelled)"
    assert floor_text(timing) == "1.25× (modelled)"


def test_a_measured_one_is(make_timing):
    timing = make_timing()
    assert speedup_text(timing, timing.best_baseline) == "1.20× [1.18, 1.22]"
    assert speedup_text(timing, None) == "–"
    assert timing_text(timing, None) == "–"
