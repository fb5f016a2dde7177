"""What a verdict earns."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from warpsmith.core import (
    BuildFailed,
    Crashed,
    Implausible,
    NotRunnable,
    Passed,
    Provenance,
    Ratio,
    Rejected,
    TimedOut,
    Timing,
    UsageError,
    Verdict,
    Wrong,
)
from warpsmith.learn.rubric.base import Scores


class Missing(StrEnum):
    """Why there is no reward."""

    INFRA = "infra"  # something of ours failed
    NOT_RUNNABLE = "not runnable"  # this device says nothing about the program
    IMPLAUSIBLE = "implausible"  # the measurement was refused
    UNSETTLED = "unsettled"  # it was taken, and says nothing
    UNTIMED = "untimed"  # only correctness was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """A number, and what it was made of; `parts` are told and not added up."""

    value: float
    parts: dict[str, float]
    is_modelled: bool = False  # the times were: it may teach, and says nothing about a GPU


@dataclass(frozen=True, slots=True, kw_only=True)
class NoReward:
    """Nothing is known of how good the program is: its sample is left out, and counted."""

    reason: Missing
    message: str


Outcome = Reward | NoReward


class RewardRule(Protocol):
    """Turns a verdict into a reward."""

    @property
    def name(self) -> str: ...

    @property
    def needs_rubric(self) -> bool: ...

    def reward(self, verdict: Verdict, scores: Scores | None = None) -> Outcome:
        """`scores` are a rubric's; a rule that does not need them ignores them.

        Raises UsageError if it needs them, and a program that passed comes without.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The program is wrong, or is no program."""


def timing_of(verdict: Verdict) -> Timing | Failed | NoReward:
    """The times of a program that passed; that it failed; or why there is nothing to say."""
    match verdict:
        case Rejected() | BuildFailed() | Crashed() | Wrong() | TimedOut():
            return Failed()
        case NotRunnable(reason=reason):
            return NoReward(reason=Missing.NOT_RUNNABLE, message=reason)
        case Implausible(message=message):
            return NoReward(reason=Missing.IMPLAUSIBLE, message=message)
        case Passed(timing=None):
            return NoReward(reason=Missing.UNTIMED, message="the program was verified, not measured")
        case Passed(timing=timing):
            assert timing is not None
            return _settled(timing)


def earned(verdict: Verdict, wrong: float, of: Callable[[Timing], tuple[float, dict[str, float]]]) -> Outcome:
    """What a program earns: `wrong` if it failed, else what `of` makes of its times, and of what parts."""
    timing = timing_of(verdict)
    match timing:
        case NoReward():
            return timing
        case Failed():
            return Reward(value=wrong, parts={"correct": 0.0})
        case _:
            value, parts = of(timing)
            return Reward(
                value=value,
                parts={"correct": 1.0, **parts},
                is_modelled=timing.provenance is Provenance.MODELLED,
            )


def baseline_of(timing: Timing, name: str) -> Ratio:
    """The ratio against "eager", or against "compile" where torch.compile works, else against eager."""
    return (
        timing.against_eager if name == "eager" or timing.against_compile is None else timing.against_compile
    )


def check_baseline(name: str) -> None:
    if name not in ("eager", "compile"):
        raise UsageError(f"unknown baseline {name!r}; choose eager or compile")


def _settled(timing: Timing) -> Timing | NoReward:
    """One ratio that is no number makes a NaN of every reward in its group."""
    if timing.trouble:
        return NoReward(reason=Missing.UNSETTLED, message=timing.trouble)
    for ratio in (timing.against_eager, timing.against_compile):
        if ratio is not None and not (math.isfinite(ratio.centre) and ratio.centre > 0):
            return NoReward(reason=Missing.UNSETTLED, message=f"a ratio of times is {ratio.centre}")
    return timing
