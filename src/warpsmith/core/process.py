"""A command to run outside this process, what bounds it, and what came of it."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one process tree; whoever exceeds one is killed with all its children."""

    wall_s: float = 60.0
    memory_bytes: int | None = None  # resident, summed over the tree
    output_bytes: int = 10 << 20  # kept of each stream; the rest is dropped
    file_bytes: int = 8 << 30  # largest file it may write
    disk_bytes: int = 64 << 30  # that it may write in all, below its writable folders
    processes: int = 256


class Ending(StrEnum):
    """How a process ended."""

    EXITED = "exited"  # of its own accord; see `exit_code`
    SIGNALLED = "signalled"  # killed by a signal that was not ours
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run and what it may see. Paths outside `readable` and `writable` may be invisible to it."""

    argv: tuple[str, ...]
    cwd: Path
    env: dict[str, str] = field(default_factory=dict)  # added to a minimal clean environment
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()  # folders of the system's or Python's that it has no business in
    gpu: bool = False
    nursery: str | None = None  # the module of a program that has most of this one imported, to fork it from
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """A command that has ended. A non-zero exit code is data, not an error."""

    ending: Ending
    exit_code: int  # minus the signal's number if signalled
    stdout: str
    stderr: str
    wall_s: float

    @property
    def is_success(self) -> bool:
        return self.ending is Ending.EXITED and self.exit_code == 0


class Runner(Protocol):
    """Runs a command to its end. Every sandbox is one; so is a test's fake."""

    def run(self, command: Command) -> Completed:
        """What came of `command`. Raises InfraError if it could not be started at all."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What a job has written since it was last asked."""

    stdout: str
    stderr: str


class Job(Protocol):
    """A command that runs beside its caller, until it ends or its wall limit is reached."""

    def spoken(self) -> Spoken:
        """What is new. Of more than `limits.output_bytes` a stream, the middle is left out."""
        ...

    def ended(self) -> Completed | None:
        """What came of it; None while it runs. Raises InfraError if it could not be started after all."""
        ...

    def close(self) -> Completed:
        """Kill what is left of the whole process tree and say how it had ended; raises as `ended` does."""
        ...


class Guest(Protocol):
    """A started command that answers requests over a private pair of pipes."""

    def ask(self, request: bytes, *, limit_s: float, is_timed: bool = False) -> bytes | Completed:
        """The guest's one-line answer to a one-line request, or its end if it ended or overran `limit_s`.

        `is_timed` if the time until the answer is taken for the guest's: then it is not slept away.
        """
        ...

    def close(self) -> Completed:
        """Kill the whole process tree and say how it had ended."""
        ...
