"""What became of a case: which gate said no, and whether that was to be expected."""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from warpsmith.core import (
    BuildFailed,
    Crashed,
    Implausible,
    NotRunnable,
    Passed,
    Rejected,
    TimedOut,
    Verdict,
    Wrong,
)
from warpsmith.redteam.case import GATES, Case, Kind

# Rules that are not read off the source, and the gates that tell of them. All others are gate `rules`'.
RULES: dict[str, tuple[str, ...]] = {
    "torch-compute": ("forward", "symbols", "load"),
    "flags": ("load", "forward", "build"),
    "channel": ("load", "forward", "coverage", "clock"),
    "own-kernels": ("coverage",),
    "libraries": ("symbols", "coverage"),
    "weights": ("load",),
}
NATIVE = "native-"  # begins the rules of gate `symbols`
STAGES: dict[str, tuple[str, ...]] = {"load": ("load",), "clock": ("clock",), "coverage": ("coverage",)}
WRONG: dict[str, tuple[str, ...]] = {
    "weights": ("load",),
    "sanitizer": ("sanitizer",),
    # Also the clock's, which compares what timed calls returned.
    "values": ("numbers", "clock"),
    "structure": ("numbers", "forward", "clock"),
}


class State(StrEnum):
    """How a case ended, as the table says it."""

    CAUGHT = "caught"
    PASSED = "passes"  # an honest one
    GOT_PAST = "GOT PAST"
    ELSEWHERE = "CAUGHT ELSEWHERE"  # by a gate that its file doesn't name: it doesn't test what it says
    REFUSED = "REFUSED"  # an honest one
    BROKE = "BROKE THE JUDGE"
    NOT_RUNNABLE = "not runnable here"


AS_EXPECTED = frozenset((State.CAUGHT, State.PASSED, State.NOT_RUNNABLE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A case and what the judge said; `trouble` in place of a verdict if it failed itself."""

    case: Case
    verdict: Verdict | None = None
    trouble: str = ""
    wall_s: float = 0.0

    @property
    def state(self) -> State:
        if self.trouble:
            return State.BROKE
        if self.verdict is None or isinstance(self.verdict, NotRunnable):
            return State.NOT_RUNNABLE
        is_passed = isinstance(self.verdict, Passed)
        if self.case.kind is Kind.HONEST:
            return State.PASSED if is_passed else State.REFUSED
        if is_passed:
            return State.GOT_PAST
        return State.CAUGHT if self.gate in self.case.caught_by else State.ELSEWHERE

    @property
    def is_as_expected(self) -> bool:
        return self.state in AS_EXPECTED

    @property
    def gate(self) -> str | None:
        """The gate that said no; of several that may have been it, one that the case names."""
        possible = () if self.verdict is None else gates_of(self.verdict)
        named = [gate for gate in possible if gate in self.case.caught_by]
        return next(iter((*named, *possible)), None)


def gates_of(verdict: Verdict) -> tuple[str, ...]:
    """The gates that may have given `verdict`, the likeliest first. A verdict does not say which it was."""
    match verdict:
        case Rejected(rule=rule):
            default = ("symbols",) if rule.startswith(NATIVE) else ("rules",)
            gates = RULES.get(rule, default)
        case BuildFailed() | NotRunnable():
            gates = ("build",)
        case Crashed(stage=stage) | TimedOut(stage=stage):
            gates = STAGES.get(stage, ("forward",))
        case Wrong(what=what):
            gates = WRONG.get(what, ("forward", "numbers"))
        case Implausible():
            gates = ("clock",)
        case Passed():
            gates = ()
        case _:
            assert_never(verdict)
    assert set(gates) <= set(GATES)
    return gates
