"""Lessons of runs: a program, what the judge said of it, and the next program, if that was right."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from warpsmith.agent.attempts.nouns import ATTEMPTS
from warpsmith.agent.runs.past import Past, past_of
from warpsmith.agent.runs.record import BLOBS, LOGS, TRAJECTORY, WORKSPACE
from warpsmith.agent.runs.snapshot import Blobs
from warpsmith.agent.skills.iterations import Iteration, iterations
from warpsmith.core import NotRunnable, Passed, UsageError
from warpsmith.tasks.synth.skills import Left, Lesson, speedup

INNER = frozenset({WORKSPACE, BLOBS, LOGS})  # of a run: no run lies in them


@dataclass(frozen=True, slots=True, kw_only=True)
class Mining:
    """What counts as a lesson."""

    margin: float = 0.05  # at least this much faster, of programs that were both right


def run_folders(place: Path) -> tuple[Path, ...]:
    """`place` itself if it is a run, and all runs below it, by no link; by path.

    Raises UsageError if there is no such folder.
    """
    if not place.is_dir():
        raise UsageError(f"{place}: no such folder; runs are listed by `warpsmith runs list`")
    found = []
    for parent, folders, names in os.walk(place):
        folders[:] = sorted(set(folders) - INNER) if TRAJECTORY in names else sorted(folders)
        # A run of several attempts has nothing of its own: each of them is a whole run below it.
        if TRAJECTORY in names and ATTEMPTS not in folders:
            found.append(Path(parent))
    return tuple(found)


def mined(folders: Iterable[Path], mining: Mining) -> Iterator[Lesson | Left]:
    """The lessons of each run in order; a run that cannot be read, and a step that is no lesson, is told."""
    for folder in folders:
        try:
            past = past_of(folder)
        except UsageError as error:
            yield Left(where=str(folder), why=str(error))
            continue
        steps = pairwise(iterations(past.events, Blobs(folder / BLOBS)))
        yield from (_lesson(past, before, after, mining) for before, after in steps)


def _lesson(past: Past, before: Iteration, after: Iteration, mining: Mining) -> Lesson | Left:
    why = _why_none(before, after, mining)
    if why is not None or before.program is None or not isinstance(after.verdict, Passed):
        where = f"{past.folder.name}, turns {before.turn} and {after.turn}"
        return Left(where=where, why=why or NOT_KNOWN)
    assert after.program is not None  # it is in its verdict's event
    return Lesson(
        task=past.task,
        before=before.program,
        verdict_before=before.verdict,
        feedback=_clean(before.feedback),
        after=after.program,
        verdict_after=after.verdict,
        origin=past.folder.name,
        turns=(before.turn, after.turn),
    )


NOT_RIGHT = "the next program was not right"
NOT_KNOWN = "the record does not tell what the program before was"
NOT_RUN = "the device could not run the program before"
NOT_TIMED = "both were right, and not both were timed alike"


def _why_none(before: Iteration, after: Iteration, mining: Mining) -> str | None:
    """Why two programs in a row are no lesson."""
    if not isinstance(after.verdict, Passed):
        return NOT_RIGHT
    if isinstance(before.verdict, NotRunnable):
        return NOT_RUN
    if before.program is None or after.program is None:
        return NOT_KNOWN
    if not isinstance(before.verdict, Passed):
        return None
    times = speedup(before.verdict, after.verdict)
    if times is None:
        return NOT_TIMED
    return None if times >= 1 + mining.margin else f"the next program was not {mining.margin:.0%} faster"


def _clean(text: str) -> str:
    """Without halves of surrogate pairs, which a model may say and no file can hold."""
    return text.encode(errors="replace").decode()
