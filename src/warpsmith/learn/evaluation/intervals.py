"""Intervals of 95 % over tasks, of which each may have been tried several times.

Tries at one task are alike, so it is tasks that are counted: more tries make a task's own figure surer, not
the set of tasks larger.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import norm, t

from warpsmith.core import Ratio

CONFIDENCE = 0.95
Z = float(norm.ppf(0.5 + CONFIDENCE / 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A mean over tasks of shares in [0, 1], with its interval."""

    value: float
    low: float
    high: float
    num_tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A mean over tasks of differences in [-1, 1], with its interval."""

    value: float
    low: float
    high: float
    num_tasks: int

    @property
    def is_told(self) -> bool:
        """The interval lies on one side of nothing."""
        return self.low > 0.0 or self.high < 0.0


def rate(shares: Sequence[float], num_tries: int = 1) -> Rate:
    """Of each task's share of good tries, of `num_tries` each; nothing of no task may be anything.

    Wilson's interval for as many independent tries as would scatter like these tasks do (Korn & Graubard's
    effective size), at least one a task and at most all there were. With one try a task it is Wilson's.
    """
    num = len(shares)
    if num == 0:
        return Rate(value=0.0, low=0.0, high=1.0, num_tasks=0)
    value = math.fsum(shares) / num
    size = _effective(shares, value, num_tries)
    centre = (value + Z * Z / (2 * size)) / (1 + Z * Z / size)
    half = Z / (1 + Z * Z / size) * math.sqrt(value * (1 - value) / size + (Z / (2 * size)) ** 2)
    return Rate(
        value=value,
        low=0.0 if value == 0.0 else max(0.0, centre - half),
        high=1.0 if value == 1.0 else min(1.0, centre + half),
        num_tasks=num,
    )


def change(differences: Sequence[float]) -> Change:
    """Of each task's share after, less its share before.

    Agresti and Min's interval for paired shares (2005), in its form for means: two tasks more, of which half
    a one was gained and half a one lost, so that even tasks without any difference leave doubt.
    """
    num = len(differences)
    if num == 0:
        return Change(value=0.0, low=-1.0, high=1.0, num_tasks=0)
    total, squares, size = math.fsum(differences), math.fsum(d * d for d in differences) + 1.0, num + 2
    centre = total / size
    half = Z * math.sqrt(max(0.0, squares / size - centre * centre) / size)
    return Change(
        value=total / num, low=max(-1.0, centre - half), high=min(1.0, centre + half), num_tasks=num
    )


def geometric(ratios: Sequence[float]) -> Ratio | None:
    """The geometric mean with Student's interval of the logarithms; None of none.

    The interval of a single ratio is all there is. Raises ValueError for a ratio that is not positive and
    finite.
    """
    if not ratios:
        return None
    if not all(math.isfinite(ratio) and ratio > 0.0 for ratio in ratios):
        raise ValueError("every ratio must be positive and finite")
    logs, num = [math.log(ratio) for ratio in ratios], len(ratios)
    mean = math.fsum(logs) / num
    if num == 1:
        return Ratio(centre=math.exp(mean), low=0.0, high=math.inf)
    deviation = math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / (num - 1))
    half = float(t.ppf(0.5 + CONFIDENCE / 2, num - 1)) * deviation / math.sqrt(num)
    return Ratio(centre=math.exp(mean), low=math.exp(mean - half), high=math.exp(mean + half))


def _effective(shares: Sequence[float], value: float, num_tries: int) -> float:
    num = len(shares)
    if num < 2 or value in (0.0, 1.0):
        return float(num)
    variance = math.fsum((share - value) ** 2 for share in shares) / (num - 1) / num  # of the mean
    most = float(num * max(1, num_tries))
    return most if variance == 0.0 else min(max(value * (1 - value) / variance, float(num)), most)
