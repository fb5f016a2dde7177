"""A run as its folder tells of it: what it was asked, what counts of what it did, and how far it came."""

from dataclasses import dataclass, replace
from pathlib import Path

from warpsmith.agent.attempts.nouns import ATTEMPTS
from warpsmith.agent.budget import Budget
from warpsmith.agent.events import (
    Aborted,
    Event,
    Finished,
    Forked,
    Judged,
    Resumed,
    Said,
    Started,
    TurnEnded,
    end_of_turn,
    in_effect,
)
from warpsmith.agent.runs.log import Entry, read_entries
from warpsmith.agent.runs.record import TASK
from warpsmith.agent.runs.spec import RunSpec, spec_of
from warpsmith.core import Cost, Role, StopReason, Task, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A run as its folder tells of it."""

    folder: Path
    started: Started
    spec: RunSpec
    task: Task
    entries: tuple[Entry, ...]  # all that was ever told

    @property
    def events(self) -> tuple[Event, ...]:
        """Those that count."""
        return in_effect(entry.event for entry in self.entries)

    @property
    def num_turns(self) -> int:
        """How many have ended."""
        return max((event.number for event in self.events if isinstance(event, TurnEnded)), default=0)


def past_of(folder: Path) -> Past:
    """Raises UsageError if it is no run, was recorded by another version, or its task file has changed."""
    entries = read_entries(folder)
    first = entries[0].event if entries else None
    if not isinstance(first, Started):
        raise UsageError(f"{folder} does not begin with the start of a run; start a new one")
    if ATTEMPTS in first.config:
        raise UsageError(
            f"{folder} holds several attempts; name one of them, such as {folder / ATTEMPTS / '1'}"
        )
    spec = spec_of(first, folder)
    try:
        source = (folder / TASK).read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{folder / TASK} cannot be read ({error}); the run cannot go on without") from error
    task = replace(spec.task, source=source)
    if task.digest != first.task_digest:
        raise UsageError(
            f"{folder / TASK} is not the task that this run began with; put it back, or start a new run"
        )
    for entry in entries:
        if isinstance(entry.event, Resumed) and entry.event.budget is not None:
            spec = replace(spec, budget=entry.event.budget)
    return Past(folder=folder, started=first, spec=spec, task=task, entries=entries)


ENDED_BY_POLICY = (StopReason.FINISHED, StopReason.STUCK)
ENDED_FROM_OUTSIDE = (StopReason.INTERRUPTED, StopReason.POLICY)  # the same run can go on as it is
"""The other reasons are limits: a run goes on from one with a larger budget."""


def unfinished(folder: Path, budget: Budget | None = None) -> Past:
    """A run that can be resumed, with another budget than its own if there is one.

    Raises UsageError as `past_of`, and if there is nothing to go on with.
    """
    past = past_of(folder)
    for event in past.events:
        match event:
            case Finished(stop=stop) if stop in ENDED_BY_POLICY:
                raise UsageError(f"{folder} has finished ({stop}); {_fork_hint(past)}")
            case Finished(stop=stop) if stop not in ENDED_FROM_OUTSIDE and budget is None:
                raise UsageError(
                    f"{folder} has finished: it reached a limit ({stop}); resume it with a larger one, or "
                    f"{_fork_hint(past)}"
                )
            case Forked(turn=turn) if turn > past.num_turns:
                raise UsageError(f"{folder} was killed while it was being forked; remove it and fork again")
            case _:
                pass
    return past if budget is None else replace(past, spec=replace(past.spec, budget=budget))


def _fork_hint(past: Past) -> str:
    return f"to go on from it: warpsmith runs fork {past.folder} --turn {past.num_turns}"


def lost_of(past: Past) -> Cost:
    """What was spent since the last turn ended, but for a reply that is used again."""
    events = list(past.events)
    lost = Cost()
    for event in events[end_of_turn(events, past.num_turns) :]:
        match event:
            case Said(message=message, cost=cost) if message.role is not Role.ASSISTANT:
                lost += cost
            case Judged(cost=cost):
                lost += cost
            case _:
                pass
    return lost


def paid_of(past: Past) -> Said | None:
    """The reply that was had after the last turn, also if it was told before an earlier resumption."""
    events = [entry.event for entry in past.entries]
    late = events[end_of_turn(events, past.num_turns) :]
    replies = [event for event in late if isinstance(event, Said) and event.message.role is Role.ASSISTANT]
    return replies[-1] if replies else None


def entries_until(past: Past, turn: int) -> tuple[Entry, ...]:
    """What a run told up to the end of a turn, but for what is only about that run.

    Raises UsageError, naming the turns, if there is no such turn.
    """
    if not 1 <= turn <= past.num_turns:
        known = f"its turns are 1 to {past.num_turns}" if past.num_turns else "no turn of it has ended"
        raise UsageError(f"{past.folder} has no turn {turn} to fork from; {known}")
    events = list(past.events)
    at = {id(entry.event): entry.at for entry in past.entries}
    kept = events[: end_of_turn(events, turn)]
    return tuple(Entry(at=at[id(event)], event=event) for event in kept if _is_inherited(event, turn))


def _is_inherited(event: Event, turn: int) -> bool:
    if isinstance(event, Forked):
        return event.turn <= turn
    return not isinstance(event, Started | Resumed | Finished | Aborted)
