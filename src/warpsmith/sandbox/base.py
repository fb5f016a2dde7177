"""What every sandbox is, and what one may promise."""

from enum import StrEnum
from typing import Protocol

from warpsmith.core import Command, Guest, Job, Runner
from warpsmith.sandbox.syscalls import filter_program


class Guarantee(StrEnum):
    """What a sandbox may cover, in words that follow "covers" and "does not cover"."""

    TREE = "killing every process that was left behind, daemons too"
    TIME = "a limit of wall time"
    MEMORY = "a limit of resident memory over the whole process tree"
    PROCESSES = "a limit of the number of processes"
    OUTPUT = "a limit of captured output"
    FILE_SIZE = "a limit of each file's size"
    DISK = "a limit of what is written below the writable folders in all"
    ENVIRONMENT = "keeping the caller's environment variables and open files away"
    PROTECTED = "restoring read-only files inside a writable folder"
    READ_ONLY = "keeping every file that was not named writable from being changed"
    HIDDEN_FILES = "hiding files that were not named"
    HIDDEN_PROCESSES = "hiding other processes and shielding them from signals"
    NETWORK = "cutting off the network"
    SYSTEM_CALLS = "filtering system calls"
    GPU_MEMORY = "a limit of GPU memory"


class Sandbox(Runner, Protocol):
    """Where a program that we don't trust runs. Its failure is returned, the sandbox's own is raised.

    A program sees a clean environment, no standard input, and may write where `Command.writable` says: the
    current folder is no exception. The most specific path wins, so a readable file in a writable folder is
    read-only.
    """

    @property
    def name(self) -> str:
        """Its key in SANDBOXES."""
        ...

    @property
    def covers(self) -> tuple[str, ...]:
        """What it guarantees."""
        ...

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What it does not guarantee, though another kind might."""
        ...

    @property
    def warning(self) -> str | None:
        """What a user should know before running strangers' code here, if anything."""
        ...

    @classmethod
    def why_unavailable(cls) -> str | None:
        """Why this kind cannot run here, with the exact fix; None if it can. Found out once by running it."""
        ...

    @classmethod
    def is_available(cls) -> bool: ...

    def start(self, command: Command) -> Guest:
        """Start a guest; the variables REQUESTS_FD and ANSWERS_FD name its pipes.

        `limits.wall_s` is not applied: each question has its own limit.

        Raises:
            InfraError: it could not be started at all.
        """
        ...

    def begin(self, command: Command) -> Job:
        """Start a command that `run` would wait for; the same limits hold. It ends with our process.

        Raises:
            InfraError: it could not be started at all.
        """
        ...


def all_but(*not_covered: Guarantee) -> tuple[Guarantee, ...]:
    """All guarantees that can be given here, except these."""
    if not filter_program(has_sockets=True):
        not_covered = (*not_covered, Guarantee.SYSTEM_CALLS)
    return tuple(guarantee for guarantee in Guarantee if guarantee not in not_covered)


def rest_of(covers: tuple[Guarantee, ...]) -> tuple[Guarantee, ...]:
    """All guarantees that are not among `covers`."""
    return tuple(guarantee for guarantee in Guarantee if guarantee not in covers)
