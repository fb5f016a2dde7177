"""What a list of runs says of each: one flat line, small enough to be kept, quick to filter and to sort."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from warpsmith.core import Cost, Passed, Provenance, Ratio, StopReason, Timing, UsageError
from warpsmith.report.runs import BrokenRun, Run, RunState, is_held
from warpsmith.report.verdicts import verdict_text

BROKEN = "broken"
STATES = (*(state.value.replace(" ", "-") for state in RunState), BROKEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One run; a broken one has a `reason` and nothing else. Times are medians."""

    folder: Path
    state: RunState | None  # None: broken
    reason: str = ""
    task_id: str = ""
    policy: str = ""
    device: str = ""
    started_at: str = ""
    parent: str | None = None  # the run that it was forked from
    stop: StopReason | None = None
    num_turns: int | None = None
    cost: Cost | None = None  # known once it has ended
    candidate_digest: str | None = None
    kind: str | None = None  # of the verdict: "Passed", "Wrong"; None if nothing has passed
    words: str = ""  # the verdict's
    is_fast: bool | None = None  # None: not timed
    provenance: Provenance | None = None
    candidate_us: float | None = None
    ratio: Ratio | None = None  # against the better baseline

    @property
    def is_correct(self) -> bool:
        return self.kind == Passed.__name__

    @property
    def is_broken(self) -> bool:
        return self.state is None

    @property
    def state_text(self) -> str:
        return BROKEN if self.state is None else self.state.value


def entry_of(run: Run | BrokenRun) -> Entry:
    """The line on `run`."""
    if isinstance(run, BrokenRun):
        return Entry(folder=run.folder, state=None, reason=run.reason)
    outcome, verdict = run.outcome, run.verdict
    return Entry(
        folder=run.folder,
        state=run.state,
        task_id=run.started.task_id,
        policy=run.started.policy,
        device=run.started.device,
        started_at=run.started_at,
        parent=None if run.forked is None else run.forked.parent,
        stop=None if outcome is None else outcome.stop,
        num_turns=None if outcome is None else outcome.num_turns,
        cost=outcome.cost if outcome is not None and outcome.is_final else None,
        candidate_digest=None if outcome is None else outcome.candidate_digest,
        kind=None if verdict is None else type(verdict).__name__,
        words="" if verdict is None else verdict_text(verdict),
        **_timing_fields(verdict.timing if isinstance(verdict, Passed) else None),
    )


def as_of_now(entry: Entry) -> Entry:
    """`entry`, kept from before, with the one thing that changes without its files: whether it still runs."""
    if is_held(entry.folder):
        return replace(entry, state=RunState.RUNNING)
    return replace(entry, state=RunState.CUT_SHORT if entry.stop is None else RunState.FINISHED)


def _timing_fields(timing: Timing | None) -> dict[str, Any]:
    if timing is None:
        return {}
    return {
        "is_fast": timing.is_fast,
        "provenance": timing.provenance,
        "candidate_us": timing.candidate.median_us,
        "ratio": timing.best_baseline,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which runs, and in what order. Names are a part of what is meant, or a pattern such as 'softmax*'.

    Raises UsageError for a state or an order that there is not.
    """

    task: str | None = None
    policy: str | None = None
    state: str | None = None
    is_correct: bool | None = None
    order: str = "name"

    def __post_init__(self) -> None:
        if self.state is not None and self.state not in STATES:
            raise UsageError(f"unknown state {self.state!r}; choose one of {', '.join(STATES)}")
        if self.order not in ORDERS:
            raise UsageError(f"runs cannot be sorted by {self.order!r}; choose one of {', '.join(ORDERS)}")

    def of(self, entries: Iterable[Entry]) -> tuple[Entry, ...]:
        """Those that are wanted, in order."""
        return tuple(sorted(filter(self._is_wanted, entries), key=ORDERS[self.order]))

    def _is_wanted(self, entry: Entry) -> bool:
        return (
            _is_like(entry.task_id, self.task)
            and _is_like(entry.policy, self.policy)
            and self.state in (None, entry.state_text.replace(" ", "-"))
            and self.is_correct in (None, entry.is_correct)
        )


def _is_like(text: str, pattern: str | None) -> bool:
    return pattern is None or pattern in text or fnmatch(text, pattern)


def _by_time(entry: Entry) -> tuple[bool, bool, float]:
    """Measured times first, then modelled ones, then what was never timed."""
    is_modelled = entry.provenance is not Provenance.MEASURED
    return entry.candidate_us is None, is_modelled, entry.candidate_us or 0.0


def _by_ratio(entry: Entry) -> tuple[bool, bool, float]:
    return (*_by_time(entry)[:2], 0.0 if entry.ratio is None else -entry.ratio.centre)


def _latest_first(entry: Entry) -> float:
    """What says no time comes last."""
    try:
        return -datetime.fromisoformat(entry.started_at).timestamp()
    except (ValueError, OverflowError):
        return 0.0


ORDERS: dict[str, Callable[[Entry], Any]] = {
    "name": lambda entry: str(entry.folder),
    "task": lambda entry: (entry.task_id, _by_time(entry)),
    "policy": lambda entry: (entry.policy, entry.task_id),
    "time": _by_time,
    "ratio": _by_ratio,
    "started": _latest_first,
}
