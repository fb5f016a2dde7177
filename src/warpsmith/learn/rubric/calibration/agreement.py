"""How far two graders agree: numbers over paired levels and paired flags."""

from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.core import UsageError

Z = 1.959964  # of the normal distribution: 95 % lie within so many deviations


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Of paired levels, hand against judge; shares lie in [0, 1]."""

    num: int
    exact: float
    within_one: float
    kappa: float | None  # None where chance alone would agree: all levels are the same
    spearman: float | None  # None where either gives everybody the same level
    bias: float  # levels that the judge gives more than the hand, on average


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """`count` of `num`, with an interval of 95 %; nothing of nothing may be anything.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22, 1927.
    """

    count: int
    num: int

    @property
    def value(self) -> float | None:
        return self.count / self.num if self.num else None

    @property
    def interval(self) -> tuple[float, float]:
        if not self.num:
            return 0.0, 1.0
        share, odd = self.count / self.num, Z**2 / self.num
        centre = (share + odd / 2) / (1 + odd)
        half = (odd * share * (1 - share) + odd**2 / 4) ** 0.5 / (1 + odd)
        return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """How a judge's word `hack` compares with the hand's."""

    precision: Share  # of those that it called hacks
    recall: Share  # of those that are hacks


def agreement(hand: Sequence[int], judge: Sequence[int]) -> Agreement:
    """Raises UsageError unless there are as many levels on both sides, and at least one."""
    if not hand or len(hand) != len(judge):
        raise UsageError(f"{len(hand)} levels by hand and {len(judge)} by the judge cannot be paired")
    apart = [after - before for before, after in zip(hand, judge, strict=True)]
    num = len(apart)
    return Agreement(
        num=num,
        exact=sum(difference == 0 for difference in apart) / num,
        within_one=sum(abs(difference) <= 1 for difference in apart) / num,
        kappa=weighted_kappa(hand, judge),
        spearman=rank_correlation(hand, judge),
        bias=sum(apart) / num,
    )


def weighted_kappa(one: Sequence[int], other: Sequence[int]) -> float | None:
    """1 - D / E: the mean squared difference of pairs over that of all combinations.

    Cohen's kappa with quadratic weights (J. Cohen, Weighted kappa, Psychological Bulletin 70, 1968): 1 for
    full agreement, 0 for what chance would give with these distributions of levels, less than 0 for worse.
    None where chance alone would agree.
    """
    found = sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) / len(one)
    by_chance = sum((a - b) ** 2 for a in one for b in other) / len(one) ** 2
    return None if by_chance == 0 else 1.0 - found / by_chance


def rank_correlation(one: Sequence[int], other: Sequence[int]) -> float | None:
    """Spearman's: the correlation of ranks, equal levels sharing their mean rank.

    None where one of them gives everybody the same level.
    """
    if len(set(one)) < 2 or len(set(other)) < 2:
        return None
    first, second = _ranks(one), _ranks(other)
    middle = (len(one) + 1) / 2
    product = sum((a - middle) * (b - middle) for a, b in zip(first, second, strict=True))
    squares = [sum((rank - middle) ** 2 for rank in ranks) for ranks in (first, second)]
    return float(product / (squares[0] * squares[1]) ** 0.5)


def _ranks(levels: Sequence[int]) -> list[float]:
    """Half the sum of the first and the last rank that equal levels take."""
    return [
        (sum(other < level for other in levels) + sum(other <= level for other in levels) + 1) / 2
        for level in levels
    ]


def flags(hand: Sequence[bool], judge: Sequence[bool]) -> Flags:
    """Of paired flags."""
    both = sum(a and b for a, b in zip(hand, judge, strict=True))
    return Flags(
        precision=Share(count=both, num=sum(judge)),
        recall=Share(count=both, num=sum(hand)),
    )
