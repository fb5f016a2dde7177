"""How values are spread: counts in bins, and quartiles."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import quantiles

BINS_PER_DECADE = (10, 5, 2, 1)
MAX_DECADES = 3  # that are cut as fine as comes first


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """`counts[i]` values lie in [edges[i], edges[i + 1]); the last bin holds its upper edge too."""

    edges: tuple[float, ...]  # ascending, one more than counts
    counts: tuple[int, ...]
    is_log: bool = False  # bins are equally wide in the logarithm

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.counts) + 1 or not self.counts:
            raise ValueError(f"{len(self.counts)} bins have not {len(self.edges)} edges")

    @property
    def bins(self) -> tuple[tuple[float, float, int], ...]:
        """Lower edge, upper edge and count of each."""
        return tuple(
            (low, high, count) for (low, high), count in zip(pairwise(self.edges), self.counts, strict=True)
        )

    def place(self, value: float) -> float:
        """Where `value` lies between the first edge (0) and the last (1)."""
        low, high = self.edges[0], self.edges[-1]
        if self.is_log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quartiles:
    """Five numbers that say where values lie; between two values it is interpolated."""

    least: float
    lower: float
    median: float
    upper: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Quartiles":
        """Raises ValueError if there are none."""
        if not values:
            raise ValueError("no values, no quartiles")
        lower, median, upper = (
            quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
        )
        return cls(least=min(values), lower=lower, median=median, upper=upper, most=max(values))


def log_histogram(values: Sequence[float]) -> Histogram:
    """Bins that are equally wide in the logarithm, with a power of ten on an edge wherever one lies inside.

    Ten a decade as long as that gives no more than 30 bins, else fewer. Values are finite and above 0.
    """
    least, most = min(values), max(values)
    decades = math.log10(most) - math.log10(least)
    per_decade = next(
        (each for each in BINS_PER_DECADE if decades * each <= MAX_DECADES * BINS_PER_DECADE[0]),
        BINS_PER_DECADE[-1],
    )
    first, last = (math.floor(math.log10(value) * per_decade) for value in (least, most))
    edges = [10.0 ** (number / per_decade) for number in range(first - 1, last + 3)]
    while edges[1] <= least:  # a logarithm is rounded, and so may be off by one bin
        del edges[0]
    while edges[-2] > most:
        del edges[-1]
    counts = [0] * (len(edges) - 1)
    for value in values:
        counts[bisect_right(edges, value) - 1] += 1
    return Histogram(edges=tuple(edges), counts=tuple(counts), is_log=True)


def unit_histogram(counts: Sequence[int]) -> Histogram:
    """`counts` in bins of equal width over [0, 1]."""
    edges = tuple(number / len(counts) for number in range(len(counts) + 1)) if counts else ()
    return Histogram(edges=edges, counts=tuple(counts))
