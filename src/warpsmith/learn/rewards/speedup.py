"""The speed-up as it is: prone to outliers, and kept to compare with."""

from dataclasses import dataclass
from typing import ClassVar

from warpsmith.core import Timing, Verdict
from warpsmith.learn.rewards.base import Outcome, baseline_of, check_baseline, earned
from warpsmith.learn.rubric.base import Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedUp:
    """-1 wrong, else the baseline's time over the program's (an ablation of CUDA Agent, arXiv 2602.24286)."""

    baseline: str = "compile"  # or "eager"
    name: ClassVar[str] = "speedup"
    needs_rubric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_baseline(self.baseline)

    def reward(self, verdict: Verdict, scores: Scores | None = None) -> Outcome:  # noqa: ARG002
        return earned(verdict, -1.0, self._value)

    def _value(self, timing: Timing) -> tuple[float, dict[str, float]]:
        speedup = baseline_of(timing, self.baseline).centre
        return speedup, {"speedup": speedup}
