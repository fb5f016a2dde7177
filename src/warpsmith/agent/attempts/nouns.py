"""The nouns of several attempts at one task."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from warpsmith.agent.events import Event
from warpsmith.core import Cost, Passed, Solution, StopReason, Trajectory
from warpsmith.policy import Policy, PolicyConfig

ATTEMPTS = "attempts"
"""The folder, in the run's, that holds a run folder for each."""

LIST = "attempts.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """How one attempt's policy is made. With `policy` and `policy_config` the attempt can be resumed."""

    make: Callable[[], Policy]
    policy: str = ""  # as --model names it
    policy_config: PolicyConfig = field(default_factory=PolicyConfig)


class Audience(Protocol):
    """Who wants to know. It is told by one thread at a time, though not always by the same one."""

    def on_event(self, event: Event) -> None:
        """Of the run as a whole."""
        ...

    def on_attempt(self, attempt: int, event: Event) -> None:
        """Of one attempt; they count from 1."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """How one attempt stands or went. `stop` is absent while it runs, and if it broke off."""

    number: int
    folder: Path
    policy: str
    stop: StopReason | None = None
    reason: str = ""  # why it broke off, or why its policy could not be asked any more
    best: Solution | None = None
    cost: Cost = field(default_factory=Cost)
    num_turns: int = 0

    @property
    def has_failed(self) -> bool:
        """Nothing came of it, and not by its own choice."""
        return self.best is None and (self.stop is None or self.stop is StopReason.POLICY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """What came of all of them. `trajectory` has the turns of the attempt whose program is the best."""

    folder: Path
    trajectory: Trajectory
    environment: dict[str, str]
    attempts: tuple[Attempt, ...]
    winner: int | None  # the number of that attempt


def listed(attempts: Sequence[Attempt], winner: int | None) -> list[dict[str, Any]]:
    """What attempts.json holds, an entry each."""
    return [_entry(attempt) | {"is_best": attempt.number == winner} for attempt in attempts]


def told(attempts: Sequence[Attempt], winner: int | None) -> str:
    """All of them in a line."""
    names = ", ".join(f"{attempt.number} {_state(attempt)}" for attempt in attempts)
    return f"{'nothing found' if winner is None else f'attempt {winner} is the best'}; {names}"


def _state(attempt: Attempt) -> str:
    return "broke off" if attempt.stop is None else attempt.stop.value


def _entry(attempt: Attempt) -> dict[str, Any]:
    best = attempt.best
    timing = best.verdict.timing if best is not None and isinstance(best.verdict, Passed) else None
    return {
        "number": attempt.number,
        "folder": f"{ATTEMPTS}/{attempt.number}",
        "policy": attempt.policy,
        "stop": attempt.stop,
        "reason": attempt.reason,
        "num_turns": attempt.num_turns,
        "cost": attempt.cost,
        "candidate_digest": None if best is None else best.candidate.digest,
        "candidate_us": None if timing is None else timing.candidate.median_us,
    }
