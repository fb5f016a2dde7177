"""Run folders, read back. What is damaged or half-written is said to be so; no content makes reading fail."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import IO, Any, get_args

from warpsmith.agent.events import Event, Forked, Started
from warpsmith.agent.runs.record import LOCK, TRAJECTORY, VERDICT, Outcome
from warpsmith.core import Passed, UsageError, Verdict
from warpsmith.core.codec import from_data

MARKS = (VERDICT, TRAJECTORY)  # a folder with one of them is a run
MAX_PID_BYTES = 32
MAX_VERDICT_BYTES = 64 << 20
MAX_LINE_CHARACTERS = 8 << 20  # of the trajectory; a longer line is damage

DAMAGE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""What JSON of any kind can raise on its way to a noun."""

EVENTS: dict[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}


class RunState(StrEnum):
    """How far a run has come."""

    FINISHED = "finished"
    RUNNING = "running"
    CUT_SHORT = "cut short"  # killed, or broken off by a failure of ours; the best so far stands


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run folder. `outcome` is absent if no program has passed yet."""

    folder: Path
    state: RunState
    started: Started
    started_at: str
    outcome: Outcome | None
    forked: Forked | None = None  # from another run

    @property
    def verdict(self) -> Verdict | None:
        """On the best program, if one has passed."""
        return None if self.outcome is None else self.outcome.verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenRun:
    """A folder that looks like a run and cannot be read as one."""

    folder: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One event of a trajectory; `event` is absent where the line is damaged or of another version."""

    number: int
    at: str
    event: Event | None


def run_folders(place: Path) -> tuple[Path, ...]:
    """The runs directly in `place`, by name. Raises OSError if it cannot be listed."""
    return tuple(sorted(filter(is_run, place.iterdir())))


def is_run(folder: Path) -> bool:
    """Whether `folder` holds a file that only a run has."""
    try:
        return any((folder / mark).is_file() for mark in MARKS)
    except OSError:
        return False


def is_held(folder: Path) -> bool:
    """Whether the process that holds the folder is alive; a killed one leaves its lock file behind."""
    lock = folder / LOCK
    try:
        holder = _holder(lock) if lock.is_file() else 0
        os.kill(holder, 0)
    except PermissionError:
        return True  # alive, and someone else's
    except (OSError, ValueError, OverflowError):
        return False
    return holder > 0  # other numbers mean groups of processes


def read_run(folder: Path) -> Run | BrokenRun:
    """The run in `folder`, or what is wrong with it."""
    try:
        first, second = (*islice(read_lines(folder), 2), None, None)[:2]
        outcome = _read_outcome(folder / VERDICT)
    except OSError as error:
        return BrokenRun(folder=folder, reason=f"{error.filename or folder}: {error.strerror or error}")
    except UsageError as error:
        return BrokenRun(folder=folder, reason=str(error))
    if first is None or not isinstance(first.event, Started):
        return BrokenRun(folder=folder, reason=f"{TRAJECTORY} does not begin with the start of a run")
    return Run(
        folder=folder,
        state=_state(folder, outcome),
        started=first.event,
        started_at=first.at,
        outcome=outcome,
        forked=second.event if second is not None and isinstance(second.event, Forked) else None,
    )


def read_lines(folder: Path) -> Iterator[Line]:
    """The trajectory, a line at a time, none if there is no file. Raises OSError if it cannot be read."""
    path = folder / TRAJECTORY
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, text in enumerate(_bounded_lines(file), start=1):
            if text.strip():
                yield _line(number, text)


def _state(folder: Path, outcome: Outcome | None) -> RunState:
    """A run that is held again after its end has been resumed."""
    if is_held(folder):
        return RunState.RUNNING
    is_finished = outcome is not None and outcome.is_final
    return RunState.FINISHED if is_finished else RunState.CUT_SHORT


def _holder(lock: Path) -> int:
    with lock.open("rb") as file:
        return int(file.read(MAX_PID_BYTES))


def _read_outcome(path: Path) -> Outcome | None:
    """Raises UsageError for a damaged file, OSError for an unreadable one."""
    if not path.is_file():
        return None
    if path.stat().st_size > MAX_VERDICT_BYTES:
        raise UsageError(f"{VERDICT} is larger than a verdict can be")
    try:
        outcome = from_data(Outcome, json.loads(path.read_text(encoding="utf-8")))
    except DAMAGE as error:
        raise UsageError(f"{VERDICT} is damaged: {type(error).__name__}: {error}") from error
    timing = outcome.verdict.timing if isinstance(outcome.verdict, Passed) else None
    series = () if timing is None else (timing.candidate, timing.eager, timing.compile)
    if any(one is not None and not one.samples_us for one in series):
        raise UsageError(f"{VERDICT} is damaged: it gives a time without a sample")
    return outcome


def _bounded_lines(file: IO[str]) -> Iterator[str]:
    """The lines of `file`; one longer than any event is cut, so that damage cannot fill the memory."""
    while text := file.readline(MAX_LINE_CHARACTERS):
        yield text
        while text and not text.endswith("\n") and len(text) == MAX_LINE_CHARACTERS:
            text = file.readline(MAX_LINE_CHARACTERS)


def _line(number: int, text: str) -> Line:
    try:
        data = json.loads(text)
        return Line(number=number, at=str(data.get("at", "")), event=_event(data))
    except DAMAGE:
        return Line(number=number, at="", event=None)


def _event(data: dict[str, Any]) -> Event:
    kind = EVENTS[data["type"]]
    event: Event = from_data(kind, data)
    return event
