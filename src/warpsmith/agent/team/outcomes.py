"""What a verdict is to a team: how far an iteration came, and whether the end is good."""

from warpsmith.agent.team.nouns import Outcome
from warpsmith.core import (
    BuildFailed,
    Crashed,
    Implausible,
    NotRunnable,
    Passed,
    Provenance,
    Rejected,
    Speed,
    TimedOut,
    Timing,
    Verdict,
    Wrong,
)

MODEL_SLACK = 0.01  # perfect fusion stands for torch.compile: to be level with it is all there is


def outcome_of(verdict: Verdict, target: float, own_target: float | None = None) -> Outcome:
    """What a verdict is to a team. `target` is over the better baseline, `own_target` over eager alone."""
    match verdict:
        case BuildFailed():
            return Outcome.NOT_BUILT
        case Passed(timing=timing) if timing is not None:
            return Outcome.GOOD if _has_reached(timing, target, own_target) else Outcome.SLOW
        case Passed():
            return Outcome.SLOW
        case Rejected() | Crashed() | Wrong() | TimedOut() | NotRunnable() | Implausible():
            return Outcome.WRONG


def _has_reached(timing: Timing, target: float, own_target: float | None) -> bool:
    if own_target is not None:
        return timing.against_eager.centre >= own_target
    slack = MODEL_SLACK if timing.provenance is Provenance.MODELLED else 0.0
    return timing.best_baseline.centre >= target * (1.0 - slack)


def final_outcome(verdict: Verdict) -> Outcome:
    """What the verdict of record is to a team: good unless it failed, or is slower than eager for certain."""
    if not isinstance(verdict, Passed) or verdict.timing is None:
        return outcome_of(verdict, 0.0)
    is_slower = verdict.timing.against_eager.speed() is Speed.SLOWER
    return Outcome.SLOW if is_slower else Outcome.GOOD
