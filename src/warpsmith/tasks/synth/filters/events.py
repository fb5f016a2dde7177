"""What a filter tells of itself while it runs."""

from dataclasses import dataclass

from warpsmith.tasks.synth.filters.outcome import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """So many tasks were decided by an earlier run."""

    num_known: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A task's outcome is on the disk."""

    outcome: Outcome
    num_done: int  # in this run


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A task is looked at again at the end, with nothing beside it."""

    task_id: str
    why: str


Event = Resumed | Decided | SetAside
