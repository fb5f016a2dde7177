"""What happens in an episode, told as it happens: to the run folder, and to whoever shows progress."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from warpsmith.core import Cost, Message, Solution, StopReason, Verdict


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
    config: dict[str, Any] = field(default_factory=dict)


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
class Said:
    """A message was added to the conversation; `cost` is what it took to have it."""

    message: Message
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The judge has spoken on a candidate."""

    tool: str  # "compile", "verify", "profile", or "final" for the verdict of record
    digest: str
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Improved:
    """There is a new best program; it is here in full, so that no later failure can lose it."""

    solution: Solution


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The episode has ended of its own accord; `best` carries the verdict of record."""

    stop: StopReason
    cost: Cost
    num_turns: int
    best: Solution | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Aborted:
    """The episode broke off by a failure of ours; what came before stands."""

    reason: str


Event = Started | Busy | Built | Said | Judged | Improved | Finished | Aborted


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
