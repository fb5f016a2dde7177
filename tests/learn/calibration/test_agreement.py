"""Agreement in numbers, against values that were worked out by hand."""

import random

import pytest

from warpsmith.core import UsageError
from warpsmith.learn.rubric.calibration import agreement, flags
from warpsmith.learn.rubric.calibration.agreement import rank_correlation, weighted_kappa


def by_matrix(one, other, levels=5):
    """The same by Cohen's table: weights (i - j)^2, observed and expected counts."""
    num = len(one)
    observed = [[0.0] * levels for _ in range(levels)]
    for a, b in zip(one, other, strict=True):
        observed[a - 1][b - 1] += 1
    rows = [sum(row) for row in observed]
    columns = [sum(row[j] for row in observed) for j in range(levels)]
    cells = [(i, j) for i in range(levels) for j in range(levels)]
    found = sum((i - j) ** 2 * observed[i][j] for i, j in cells)
    expected = sum((i - j) ** 2 * rows[i] * columns[j] / num for i, j in cells)
    return 1 - found / expected


def test_kappa_equals_cohens_table_on_random_levels():
    rng = random.Random(0)
    for _ in range(20):
        one, other = ([rng.randint(1, 5) for _ in range(30)] for _ in range(2))
        assert weighted_kappa(one, other) == pytest.approx(by_matrix(one, other))


def test_kappa_at_its_ends():
    assert weighted_kappa([1, 3, 5], [1, 3, 5]) == 1.0
    assert weighted_kappa([1, 5], [5, 1]) == -1.0
    assert weighted_kappa([1, 5, 1, 5], [1, 1, 5, 5]) == pytest.approx(0.0)
    assert weighted_kappa([3, 3, 3], [3, 3, 3]) is None


def test_ranks_share_their_mean():
    assert rank_correlation([1, 2, 3, 4], [1, 2, 3, 5]) == pytest.approx(1.0)
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5).
    assert rank_correlation([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / 22.5**0.5)
    assert rank_correlation([1, 2, 3], [3, 3, 3]) is None


def test_shares_and_bias():
    found = agreement([1, 2, 3, 4], [1, 3, 5, 4])
    assert (found.num, found.exact, found.within_one, found.bias) == (4, 0.5, 0.75, 0.75)


@pytest.mark.parametrize(("hand", "judge"), [([], []), ([1], []), ([1, 2], [1])])
def test_levels_that_cannot_be_paired_are_refused(hand, judge):
    with pytest.raises(UsageError, match="paired"):
        agreement(hand, judge)


def test_flags_are_counted_with_intervals():
    found = flags([True, True, True, False], [True, True, False, True])
    assert (found.precision.count, found.precision.num) == (2, 3)
    assert found.recall.value == pytest.approx(2 / 3)
    low, high = found.recall.interval
    assert (low, high) == pytest.approx((0.2077, 0.9385), abs=1e-3)  # Wilson's of 2 of 3


def test_nothing_of_nothing_may_be_anything():
    found = flags([False, False], [False, False])
    assert found.precision.value is None
    assert found.precision.interval == (0.0, 1.0)
