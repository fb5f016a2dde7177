"""Every value is in the bin that holds it."""

from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpsmith.report.synth.histogram import Histogram, Quartiles, log_histogram, unit_histogram

TIMES = st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=50)


@given(TIMES)
def test_bins_hold_all_values_and_are_cut_where_they_end(values):
    found = log_histogram(values)
    assert sum(found.counts) == len(values)
    assert found.edges[0] <= min(values) < found.edges[1]
    assert found.edges[-2] <= max(values) < found.edges[-1]
    assert 1 <= len(found.counts) <= 31
    for (low, high, count), at in zip(found.bins, range(len(found.counts)), strict=True):
        assert count == sum(low <= value < high for value in values), at


@pytest.mark.parametrize("value", [10.0**power for power in range(-6, 9)])
def test_a_power_of_ten_begins_a_bin(value):
    assert log_histogram([value, value * 50]).edges[0] == pytest.approx(value)


def test_bins_are_ten_a_decade_as_long_as_one_can_read_them():
    def per_decade(values):
        edges = log_histogram(values).edges
        return round(1 / (bisect_right(edges, 10 * edges[0] * 1.001) - 1), 3) ** -1

    assert per_decade([1.0, 100.0]) == pytest.approx(10, rel=0.01)
    assert per_decade([1.0, 1e5]) == pytest.approx(5, rel=0.01)
    assert per_decade([1e-5, 1e8]) == pytest.approx(2, rel=0.01)


def test_quartiles_of_four_and_of_one():
    assert Quartiles.of([4.0, 1.0, 2.0, 3.0]) == Quartiles(
        least=1.0, lower=1.75, median=2.5, upper=3.25, most=4.0
    )
    assert Quartiles.of([3.0]) == Quartiles(least=3.0, lower=3.0, median=3.0, upper=3.0, most=3.0)
    with pytest.raises(ValueError, match="no values"):
        Quartiles.of([])


def test_places_run_from_the_first_edge_to_the_last():
    assert unit_histogram([1, 2, 3, 4]).place(0.25) == 0.25
    assert Histogram(edges=(1.0, 10.0, 100.0), counts=(1, 1), is_log=True).place(10.0) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="0 bins"):
        unit_histogram([])
