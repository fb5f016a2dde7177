"""What pairs of samples say. Pure: randomness is passed in."""

from collections.abc import Sequence

import numpy as np

from warpsmith.core import Ratio


def median_ratio(
    baseline_us: Sequence[float],
    candidate_us: Sequence[float],
    rng: np.random.Generator,
    *,
    num_resamples: int,
) -> Ratio:
    """The median over rounds of baseline over candidate, with its 95 % bootstrap interval.

    Rounds are pairs: they are resampled together, so a drift that slows both cancels. The interval is the
    percentile one. One round gives an interval of no width.

    Raises ValueError if the two differ in length, are empty, or hold a time that is not positive and finite.
    """
    baseline, candidate = np.asarray(baseline_us, dtype=float), np.asarray(candidate_us, dtype=float)
    if baseline.shape != candidate.shape or baseline.size == 0:
        raise ValueError(
            f"{baseline.size} samples of the baseline do not pair with {candidate.size} of the candidate"
        )
    if not (_are_times(baseline) and _are_times(candidate)):
        raise ValueError("every time must be positive and finite")
    ratios = baseline / candidate
    picks = rng.integers(ratios.size, size=(num_resamples, ratios.size))
    low, high = np.quantile(np.median(ratios[picks], axis=1), (0.025, 0.975))
    centre = float(np.median(ratios))
    return Ratio(centre=centre, low=min(float(low), centre), high=max(float(high), centre))


def product(first: Ratio, second: Ratio) -> Ratio:
    """The ratio of ends from two ratios that share a middle; its interval allows for both at their worst."""
    return Ratio(
        centre=first.centre * second.centre, low=first.low * second.low, high=first.high * second.high
    )


def widened(ratio: Ratio, share: float) -> Ratio:
    """The same, with its interval pushed out by `share` of the centre on both sides."""
    return Ratio(
        centre=ratio.centre,
        low=ratio.low - share * ratio.centre,
        high=ratio.high + share * ratio.centre,
    )


def half_width(ratio: Ratio) -> float:
    """The longer side of its interval, as a share of the centre."""
    return max(ratio.high - ratio.centre, ratio.centre - ratio.low) / ratio.centre


def exact_ratio(baseline_us: float, candidate_us: float) -> Ratio:
    """The ratio of two times that carry no noise, such as modelled ones."""
    centre = baseline_us / candidate_us
    return Ratio(centre=centre, low=centre, high=centre)


def _are_times(samples: np.ndarray) -> bool:
    return bool(np.all(np.isfinite(samples)) and np.all(samples > 0))
