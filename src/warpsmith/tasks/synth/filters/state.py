"""What a filter knows so far, a line a task: written through to the disk, so that a kill loses no outcome."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import InfraError, Task, UsageError
from warpsmith.core.codec import from_json, to_json
from warpsmith.tasks.store.lock import writing
from warpsmith.tasks.synth.filters.config import FilterConfig
from warpsmith.tasks.synth.filters.outcome import Kept, Outcome, Rejected, Undecided, digest_of

NAME = "outcomes.jsonl"

Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line: what all others rest on."""

    config: str  # FilterConfig's digest
    device: str


Line = Header | Kept | Rejected | Undecided


def key_of(about: Task | Outcome) -> Key:
    return about.task_id, digest_of(about) if isinstance(about, Task) else about.digest


class State:
    """The outcomes in a folder, in the order in which they were first found."""

    def __init__(self, path: Path, descriptor: int, outcomes: dict[Key, Outcome]) -> None:
        self._path = path
        self._descriptor = descriptor
        self.outcomes = outcomes

    def add(self, outcome: Outcome) -> None:
        """Returns when it is on the disk. Raises InfraError if it cannot be written."""
        self.outcomes[key_of(outcome)] = outcome
        _append(self._path, self._descriptor, outcome)


@contextmanager
def state_in(folder: Path, config: FilterConfig) -> Iterator[State]:
    """The state in `folder`, begun if there is none, and for nobody else meanwhile.

    Raises:
        UsageError: another process holds it, which is named; it was begun with other checks; it is damaged.
        InfraError: it cannot be read or written.
    """
    path = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}") from error
    with writing(path):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise UsageError(f"{path} cannot be opened: {error.strerror}") from error
        try:
            yield State(path, descriptor, _begun(path, descriptor, config))
        finally:
            os.close(descriptor)


def _begun(path: Path, descriptor: int, config: FilterConfig) -> dict[Key, Outcome]:
    """What there is already; a header is written if there is nothing."""
    lines = _whole_lines(path, descriptor)
    if not lines:
        _append(path, descriptor, Header(config=config.digest, device=config.device.name))
        return {}
    outcomes: dict[Key, Outcome] = {}
    for number, line in enumerate(lines, start=1):
        match _read(path, number, line):
            case Header(config=digest, device=device):
                if number != 1 or digest != config.digest:
                    raise UsageError(
                        f"{path} was begun with other checks, or for another device than "
                        f"{config.device.name} ({device}); name another folder"
                    )
            case _ if number == 1:
                raise UsageError(f"{path} is no filter's state: it has no header; name another folder")
            case Kept() | Rejected() | Undecided() as outcome:
                outcomes[key_of(outcome)] = outcome
    return outcomes


def _read(path: Path, number: int, line: bytes) -> Line:
    try:
        return from_json(Line, line.decode())  # type: ignore[arg-type]  # a union is no type to mypy
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{path}, line {number} is damaged ({str(error)[:100]}); remove that line"
        ) from error


def _whole_lines(path: Path, descriptor: int) -> list[bytes]:
    """All lines. What a kill left of a last one is cut off."""
    try:
        data = path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end < len(data):
            os.ftruncate(descriptor, end)
    except OSError as error:
        raise InfraError(f"cannot read {path}: {error.strerror or error}") from error
    return data[:end].splitlines()


def _append(path: Path, descriptor: int, line: Line) -> None:
    rest = memoryview(to_json(line).encode() + b"\n")
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    except OSError as error:
        raise InfraError(f"cannot write {path}: {error.strerror or error}") from error
