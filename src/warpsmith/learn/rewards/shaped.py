"""The speed-up, bent by how a rubric judges the way to it (StitchCUDA)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from warpsmith.core import Timing, UsageError, Verdict
from warpsmith.learn.rewards.base import Outcome, earned
from warpsmith.learn.rubric.base import Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    """R = 1_correct (1 - 1_hack) min((s + tau)(1 + lam r), r_max), s the speed-up over eager.

    r = (sum of the levels - K) / 4K - 1/2 for K levels of 1 to 5, in [-1/2, 1/2] (StitchCUDA, arXiv
    2603.02637).
    """

    tau: float = 0.3
    lam: float = 1.0
    r_max: float = 5.0
    name: ClassVar[str] = "shaped"
    needs_rubric: ClassVar[bool] = True

    def reward(self, verdict: Verdict, scores: Scores | None = None) -> Outcome:
        return earned(verdict, 0.0, lambda timing: _shaped(self.name, scores, timing, self._value))

    def _value(self, speedup: float, shape: float) -> float:
        return min((speedup + self.tau) * (1.0 + self.lam * shape), self.r_max)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapedAsCoded:
    """The same as its authors' scripts have it: the speed-up is cut first, and the sum at another place.

    R = min((min(max(s, 0), max_speedup) + tau)(1 + lam r), r_max). Their `lam` is 1 for programs from scratch
    and 0.7 for refinements.
    """

    tau: float = 0.3
    lam: float = 1.0
    max_speedup: float = 5.0
    r_max: float = 3.0
    name: ClassVar[str] = "shaped-as-coded"
    needs_rubric: ClassVar[bool] = True

    def reward(self, verdict: Verdict, scores: Scores | None = None) -> Outcome:
        return earned(verdict, 0.0, lambda timing: _shaped(self.name, scores, timing, self._value))

    def _value(self, speedup: float, shape: float) -> float:
        base = min(max(speedup, 0.0), self.max_speedup) + self.tau
        return min(base * (1.0 + self.lam * shape), self.r_max)


def _shaped(
    name: str, scores: Scores | None, timing: Timing, value: Callable[[float, float], float]
) -> tuple[float, dict[str, float]]:
    if scores is None:
        raise UsageError(f"the reward {name} needs the scores of a rubric; ask one first")
    speedup = timing.against_eager.centre
    levels = {str(dimension): float(level) for dimension, level in scores.levels.items()}
    parts = {
        "speedup": speedup,
        "hack": float(scores.is_hack),
        "rubric": scores.shape,
        "is_neutral": float(scores.is_neutral),
        **levels,
    }
    return (0.0 if scores.is_hack else value(speedup, scores.shape)), parts
