"""Whether a critic's values mean what they say: what it foretold against what came, in bins."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import UsageError
from warpsmith.core.codec import from_json, to_json

CALIBRATION = "calibration.json"  # in the folder of what a run came to
NUM_BINS = 12
MIN_BIN = 1e-9  # values that differ less are the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Tokens of nearly the same value."""

    num: int
    foretold: float  # mean value
    returned: float  # mean return
    deviation: float  # of the returns in the bin


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Bins of about as many tokens each, by value."""

    bins: tuple[Bin, ...]

    @property
    def error(self) -> float:
        """Mean |foretold - returned| over bins, each by its number of tokens; in units of reward."""
        total = sum(one.num for one in self.bins)
        return sum(one.num * abs(one.foretold - one.returned) for one in self.bins) / total


def calibrated(values: Sequence[float], returns: Sequence[float], num_bins: int = NUM_BINS) -> Calibration:
    """Of [N] values and the returns that followed, without discount or bootstrap: the plain sum of rewards.

    Equal values stay in one bin, so that there may be fewer than `num_bins`.

    Raises UsageError for no values, values of another number than returns, and what is not finite.
    """
    if not values or len(values) != len(returns):
        raise UsageError(f"{len(values)} values and {len(returns)} returns make no calibration")
    if not all(map(math.isfinite, (*values, *returns))):
        raise UsageError("a value or a return is no finite number")
    pairs = sorted(zip(values, returns, strict=True))
    bins: list[list[tuple[float, float]]] = []
    for place, pair in enumerate(pairs):
        is_new = not bins or place >= len(pairs) * len(bins) / num_bins
        if is_new and (not bins or pair[0] - bins[-1][-1][0] > MIN_BIN):
            bins.append([])
        bins[-1].append(pair)
    return Calibration(bins=tuple(map(_bin, bins)))


def _bin(pairs: list[tuple[float, float]]) -> Bin:
    num = len(pairs)
    returned = sum(back for _, back in pairs) / num
    return Bin(
        num=num,
        foretold=sum(value for value, _ in pairs) / num,
        returned=returned,
        deviation=(sum((back - returned) ** 2 for _, back in pairs) / num) ** 0.5,
    )


def write_calibration(path: Path, found: Calibration) -> None:
    """Raises OSError if the disk refuses."""
    path.write_text(to_json(found, indent=1) + "\n", encoding="utf-8")


def read_calibration(path: Path) -> Calibration:
    """Raises UsageError if the file holds something else."""
    try:
        found = from_json(Calibration, path.read_text(encoding="utf-8"))
        if not found.bins or not all(one.num > 0 for one in found.bins):
            raise ValueError("there are no bins")  # noqa: TRY301
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path} holds no calibration: {error!s:.100}") from error
    return found
