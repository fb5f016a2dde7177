"""Run folders, read back. What is damaged or half-written is said to be so; no content makes reading fail."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, get_args

from warpsmith.agent.events import Event, Started
from warpsmith.agent.record import LOCK, TRAJECTORY, VERDICT, Outcome
from warpsmith.core import UsageError, Verdict
from warpsmith.core.codec import from_data

MARKS = (VERDICT, TRAJECTORY)  # a folder with one of them is a run
MAX_VERDICT_BYTES = 64 << 20
MAX_LINE_CHARACTERS = 8 << 20  # of the trajectory; a longer line is damage

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


def list_runs(folder: Path) -> tuple[Run | BrokenRun, ...]:
    """`folder` itself if it is a run, else the runs directly in it, by name.

    Raises OSError if the folder cannot be listed.
    """
    if _is_run(folder):
        return (read_run(folder),)
    return tuple(read_run(path) for path in sorted(folder.iterdir()) if _is_run(path))


def read_run(folder: Path) -> Run | BrokenRun:
    """The run in `folder`, or what is wrong with it."""
    try:
        first = next(read_lines(folder), None)
        outcome = _read_outcome(folder / VERDICT)
    except OSError as error:
        return BrokenRun(folder=folder, reason=f"{error.filename or folder}: {error.strerror or error}")
    except UsageError as error:
        return BrokenRun(folder=folder, reason=str(error))
    if first is None or not isinstance(first.event, Started):
        return BrokenRun(folder=folder, reason=f"{TRAJECTORY} does not begin with the start of a run")
    state = RunState.FINISHED if outcome is not None and outcome.is_final else _unfinished(folder)
    return Run(folder=folder, state=state, started=first.event, started_at=first.at, outcome=outcome)


def read_lines(folder: Path) -> Iterator[Line]:
    """The trajectory, a line at a time, none if there is no file. Raises OSError if it cannot be read."""
    path = folder / TRAJECTORY
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, text in enumerate(_bounded_lines(file), start=1):
            if text.strip():
                yield _line(number, text)


def _is_run(folder: Path) -> bool:
    try:
        return any((folder / mark).is_file() for mark in MARKS)
    except OSError:
        return False


def _unfinished(folder: Path) -> RunState:
    """Running if the process that holds the folder is alive; a killed one leaves its lock file behind."""
    try:
        os.kill(int((folder / LOCK).read_text()), 0)
    except PermissionError:
        return RunState.RUNNING  # alive, and someone else's
    except (OSError, ValueError, OverflowError):
        return RunState.CUT_SHORT
    return RunState.RUNNING


def _read_outcome(path: Path) -> Outcome | None:
    """Raises UsageError for a damaged file, OSError for an unreadable one."""
    if not path.is_file():
        return None
    if path.stat().st_size > MAX_VERDICT_BYTES:
        raise UsageError(f"{VERDICT} is larger than a verdict can be")
    try:
        return from_data(Outcome, json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"{VERDICT} is damaged: {type(error).__name__}: {error}") from error


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
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Line(number=number, at="", event=None)


def _event(data: dict[str, Any]) -> Event:
    kind = EVENTS[data["type"]]
    event: Event = from_data(kind, data)
    return event
