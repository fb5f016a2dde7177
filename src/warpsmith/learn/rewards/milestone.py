"""Four steps instead of a speed-up: no outlier pays, and an easy task pays no more than a hard one."""

from dataclasses import dataclass
from typing import ClassVar

from warpsmith.core import Ratio, Timing, UsageError, Verdict
from warpsmith.core.timing import MARGIN
from warpsmith.learn.rewards.base import Outcome, earned
from warpsmith.learn.rubric.base import Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestone:
    """-1 wrong; 1 right; 2 faster than eager; 3 faster than torch.compile too (CUDA Agent, arXiv 2602.24286).

    Faster means that `margin` of the baseline's time is saved at the centre of the paired interval. Where
    torch.compile fails on the reference, 2 is the most.
    """

    margin: float = MARGIN
    name: ClassVar[str] = "milestone"
    needs_rubric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0.0 <= self.margin < 1.0:
            raise UsageError(f"the margin is a share of the baseline's time, in [0, 1), not {self.margin:g}")

    def reward(self, verdict: Verdict, scores: Scores | None = None) -> Outcome:  # noqa: ARG002
        return earned(verdict, -1.0, self._value)

    def _value(self, timing: Timing) -> tuple[float, dict[str, float]]:
        beats_eager = self._beats(timing.against_eager)
        beats_compile = self._beats(timing.against_compile)
        parts = {
            "beats_eager": float(beats_eager),
            "beats_compile": float(beats_compile),
            "against_eager": timing.against_eager.centre,
        }
        if timing.against_compile is not None:
            parts["against_compile"] = timing.against_compile.centre
        return 1.0 + beats_eager + (beats_eager and beats_compile), parts

    def _beats(self, ratio: Ratio | None) -> bool:
        return ratio is not None and ratio.saved > self.margin
