"""What happens in an episode, told as it happens: to the run folder, and to whoever shows progress."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from warpsmith.agent.budget import Budget
from warpsmith.agent.team.nouns import Diagnosis, Outcome, Plan, Route
from warpsmith.core import Candidate, Cost, Message, Solution, StopReason, Verdict
from warpsmith.policy.base import Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """An episode begins."""

    task_id: str
    task_digest: str
    provenance: str
    scale: float
    policy: str
    device: str
    environment: dict[str, str] = field(default_factory=dict)  # versions and names that a verdict depends on
    config: dict[str, Any] = field(default_factory=dict)  # a RunSpec: how to go on with it


@dataclass(frozen=True, slots=True, kw_only=True)
class Forked:
    """What follows up to the end of `turn` is another run's; it comes right after Started."""

    parent: str  # the folder of that run
    turn: int
    is_elsewhere: bool = False  # another device: the times that were measured until then say nothing here


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """Something that takes a while has begun; the next event ends it. For the eye only, not recorded."""

    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A candidate was compiled; the log goes to a file of its own."""

    digest: str
    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """The tokens of the reply that comes next; they go to a file of their own, for training."""

    turn: int
    tokens: Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message was added to the conversation; `cost` is what it took to have it."""

    message: Message
    cost: Cost
    is_cut: bool = False  # a reply that ended at its token limit
    by: str = ""  # who of a team replied; empty: there is one voice


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The judge has spoken on a candidate."""

    tool: str  # "compile", "verify", "profile"; "fork" on a new device; "final" for the verdict of record
    digest: str
    verdict: Verdict
    candidate: Candidate | None = None  # the program, if it has passed
    cost: Cost = field(default_factory=Cost)  # of "fork" and "final"; a tool's is in its answer's Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Improved:
    """There is a new best program; it is here in full, so that no later failure can lose it."""

    solution: Solution


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """A reply has been answered in full. A run can be resumed or forked from here."""

    number: int  # from 1
    cost: Cost  # of this turn alone
    files: dict[str, str] = field(default_factory=dict)  # path in the workspace -> sha256 of its text, a blob
    skipped: tuple[str, ...] = ()  # text files that were too large, or too many, to be kept
    executable: tuple[str, ...] = ()  # those of `files` that may be run
    elapsed_s: float = 0.0  # of the episode until here, without the time that it lay still


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """The conversation did not fit any more. `context` is what the policy hears from here on."""

    context: tuple[int | Message, ...]  # the number of a message that it heard before, or a new one
    num_tokens: int  # before, as far as can be told
    kept_in: str  # the file in the workspace that holds what was left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A run that was killed goes on from the end of `turn`: what was told since then does not count."""

    turn: int  # 0: from the start
    lost: Cost  # what that had cost, but for a reply that is used again
    environment: dict[str, str] = field(default_factory=dict)  # as it is now
    budget: Budget | None = None  # in place of the run's, for all of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """The word goes to one of a team, who hears `context` and then what is said from here on."""

    to: str
    context: tuple[Message, ...]
    shown: tuple[str, ...] = ()  # files of the workspace whose text is in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A planner has answered, or nobody was there to. Without a plan the answer could not be read."""

    plan: Plan | None
    reason: str = ""  # why it could not, or why the plan is the plain one


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedIn:
    """A coder's part of an iteration is over: what stands in the workspace is built and tested."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What building and testing came to, and what the rules make of it."""

    outcome: Outcome
    time_us: float | None  # the program's; None unless it was timed
    digest: str | None  # None: there was no program
    diagnosis: Diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosed:
    """The one suggestion that the coder will hear."""

    diagnosis: Diagnosis


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """Where a team goes next, by which rule."""

    route: Route
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The episode has ended of its own accord; `best` carries the verdict of record."""

    stop: StopReason
    cost: Cost
    num_turns: int
    best: Solution | None
    reason: str = ""  # more than `stop` tells: why the policy could not be asked any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Aborted:
    """The episode broke off by a failure of ours; what came before stands."""

    reason: str


Event = (
    Started
    | Forked
    | Busy
    | Built
    | Sampled
    | Said
    | Judged
    | Improved
    | TurnEnded
    | Compacted
    | Resumed
    | Handed
    | Planned
    | HandedIn
    | Examined
    | Diagnosed
    | Routed
    | Finished
    | Aborted
)


def in_effect(events: Iterable[Event]) -> tuple[Event, ...]:
    """The events that count: what a run told after the turn that it was resumed from is left out.

    That a run began, was forked and was resumed always counts.
    """
    kept: list[Event] = []
    for event in events:
        if isinstance(event, Resumed):
            end = end_of_turn(kept, event.turn)
            kept[end:] = [late for late in kept[end:] if isinstance(late, Resumed)]
        kept.append(event)
    return tuple(kept)


def end_of_turn(events: list[Event], turn: int) -> int:
    """How many of `events` there were when `turn` ended; for turn 0, before anybody spoke."""
    for number in range(len(events) - 1, -1, -1):
        match events[number]:
            case TurnEnded(number=ended) if ended == turn and turn > 0:
                return number + 1
            case Started() | Forked() if turn == 0:
                return number + 1
            case _:
                pass
    return 0


class Listener(Protocol):
    """Someone who wants to know."""

    def on_event(self, event: Event) -> None: ...


class Silent:
    """Nobody listens."""

    def on_event(self, event: Event) -> None:
        """Do nothing."""


class Broadcast:
    """Tells several listeners, in order."""

    def __init__(self, *listeners: Listener) -> None:
        self._listeners = listeners

    def on_event(self, event: Event) -> None:
        for listener in self._listeners:
            listener.on_event(event)
