"""What a critic foretold against what came."""

import math
import random

import pytest

from warpsmith.core import UsageError
from warpsmith.learn.curves import calibrated, read_calibration, write_calibration


def test_a_critic_that_is_right_lies_on_the_diagonal():
    values = [place / 100 for place in range(100)]
    found = calibrated(values, values)
    assert found.error == pytest.approx(0.0)
    assert all(one.foretold == pytest.approx(one.returned) for one in found.bins)
    assert {one.num for one in found.bins} <= {8, 9}


def test_a_critic_that_promises_one_too_much_is_off_by_one():
    assert calibrated([1.0, 2.0, 3.0], [0.0, 1.0, 2.0]).error == pytest.approx(1.0)


def test_a_constant_has_one_bin_with_the_returns_deviation():
    (one,) = calibrated([0.5] * 4, [0.0, 1.0, 0.0, 1.0]).bins
    assert (one.num, one.foretold, one.returned, one.deviation) == (4, 0.5, 0.5, 0.5)


def test_all_tokens_are_in_some_bin_and_bins_go_upwards():
    rng = random.Random(0)
    values = [rng.choice([0.0, 0.0, rng.random()]) for _ in range(1000)]
    bins = calibrated(values, [rng.random() for _ in values]).bins
    assert sum(one.num for one in bins) == 1000
    assert [one.foretold for one in bins] == sorted(one.foretold for one in bins)


@pytest.mark.parametrize(
    ("values", "returns"), [([], []), ([1.0], []), ([math.nan], [1.0]), ([1.0], [math.inf])]
)
def test_what_makes_no_calibration_is_refused(values, returns):
    with pytest.raises(UsageError):
        calibrated(values, returns)


def test_it_is_read_as_it_was_written(tmp_path):
    found = calibrated([0.1, 0.2, 0.9], [0.0, 0.0, 1.0])
    write_calibration(tmp_path / "c.json", found)
    assert read_calibration(tmp_path / "c.json") == found


@pytest.mark.parametrize("text", ["", "{}", '{"bins": []}', '{"bins": [{"num": 0, "foretold": 1}]}', "[1]"])
def test_a_file_that_holds_none_is_refused(tmp_path, text):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(UsageError, match="no calibration"):
        read_calibration(tmp_path / "c.json")
