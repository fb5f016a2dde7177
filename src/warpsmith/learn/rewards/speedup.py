"""The speed-up as it is: prone to outliers, and kept to compare with."""

from dataclasses import dataclass
from typing import ClassVar

from warpsmith.core import Verdict
from warpsmith.learn.rewards.base import (
    Failed,
    NoReward,
    Outcome,
    Reward,
    baseline_of,
    check_baseline,
    is_modelled,
    timing_of,
)
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
        timing = timing_of(verdict)
        match timing:
            case NoReward():
                return timing
            case Failed():
                return Reward(value=-1.0, parts={"correct": 0.0})
            case _:
                speedup = baseline_of(timing, self.baseline).centre
                parts = {"correct": 1.0, "speedup": speedup}
                return Reward(value=speedup, parts=parts, is_modelled=is_modelled(timing))
