"""A bonus for being right, and the speed-up; a turn also earns from what later turns made of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from warpsmith.core import Timing, UsageError, Verdict
from warpsmith.learn.rewards.base import NoReward, Outcome, Reward, baseline_of, check_baseline, earned
from warpsmith.learn.rubric.base import Scores

DISCOUNT = 0.4
"""What a turn is worth to the one before it (Kevin-32B)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kevin:
    """0 wrong, else 0.3 and the speed-up (Kevin-32B; StitchCUDA's rule without a rubric)."""

    bonus: float = 0.3
    baseline: str = "eager"  # or "compile"
    name: ClassVar[str] = "kevin"
    needs_rubric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_baseline(self.baseline)

    def reward(self, verdict: Verdict, scores: Scores | None = None) -> Outcome:  # noqa: ARG002
        return earned(verdict, 0.0, self._value)

    def _value(self, timing: Timing) -> tuple[float, dict[str, float]]:
        speedup = baseline_of(timing, self.baseline).centre
        return self.bonus + speedup, {"bonus": self.bonus, "speedup": speedup}


def discounted(outcomes: Sequence[Outcome], discount: float = DISCOUNT) -> tuple[Outcome, ...]:
    """What each turn of a refinement earns: its own reward and, discounted, those of the turns after it.

    A turn before one without a reward has none either: what it led to is not known.
    """
    if not 0.0 <= discount <= 1.0:
        raise UsageError(f"the discount lies in [0, 1], not {discount:g}")
    later: Outcome = Reward(value=0.0, parts={})
    summed: list[Outcome] = []
    for own in reversed(outcomes):
        later = _with_later(own, later, discount)
        summed.append(later)
    return tuple(reversed(summed))


def _with_later(own: Outcome, later: Outcome, discount: float) -> Outcome:
    if isinstance(own, NoReward):
        return own
    if discount == 0.0:
        return own
    if isinstance(later, NoReward):
        return later
    from_later = discount * later.value
    return Reward(
        value=own.value + from_later,
        parts={**own.parts, "own": own.value, "later": from_later},
        is_modelled=own.is_modelled or later.is_modelled,
    )
