"""Events on disk, a line of JSON each. What stands there is whole: a line that was cut short is no event."""

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from warpsmith.agent.events import Event
from warpsmith.core import InfraError, UsageError
from warpsmith.core.codec import from_data, to_json

TRAJECTORY = "trajectory.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An event, and the wall time that it was told at: a label, nothing is computed from it."""

    at: str
    event: Event


class Lines:
    """A file of JSON lines that only grows, each on its way to the disk before `append` returns."""

    def __init__(self, path: Path, write: Callable[[int, bytes], int] = os.write) -> None:
        self._path = path
        self._write = write
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def append(self, text: str) -> None:
        """Raises InfraError, one line, if the disk refuses; then nothing of `text` is left in the file."""
        body = f"{text}\n".encode()
        with writing(self._path):
            before = os.fstat(self._descriptor).st_size
            try:
                while body:
                    body = body[self._write(self._descriptor, body) :]
            except OSError:
                with suppress(OSError):  # what has no length, such as /dev/full
                    os.ftruncate(self._descriptor, before)
                raise

    def sync(self) -> None:
        """Return when all of it survives a power cut. Raises InfraError if the disk refuses."""
        with writing(self._path):
            try:
                os.fsync(self._descriptor)
            except OSError as error:
                if error.errno != errno.EINVAL:  # no file of a disk
                    raise

    def close(self) -> None:
        os.close(self._descriptor)


class EventLog:
    """The trajectory of a run."""

    def __init__(self, path: Path, write: Callable[[int, bytes], int] = os.write) -> None:
        self._lines = Lines(path, write)

    def append(self, event: Event) -> None:
        """Raises InfraError, one line, if the disk refuses."""
        self.append_all((Entry(at=now(), event=event),))

    def append_all(self, entries: Iterable[Entry]) -> None:
        """All of them or, if the disk refuses, none."""
        self._lines.append(
            "\n".join(f'{{"at": {json.dumps(entry.at)}, {to_json(entry.event)[1:]}' for entry in entries)
        )

    def sync(self) -> None:
        self._lines.sync()

    def close(self) -> None:
        self._lines.close()


def read_events(folder: Path) -> tuple[Event, ...]:
    """All events of a run, but for a last line that a kill cut short. Raises UsageError if it is no run."""
    return tuple(entry.event for entry in read_entries(folder))


def read_entries(folder: Path) -> tuple[Entry, ...]:
    """The same with the time of each. Raises UsageError."""
    path = folder / TRAJECTORY
    *lines, last = _read(folder).split(b"\n")
    entries = []
    for number, line in enumerate(lines, 1):
        try:
            entries += [_entry(line)] if line else []
        except ValueError as error:
            raise UsageError(f"{path}, line {number}: {error}") from error
    with suppress(ValueError):
        entries += [_entry(last)] if last else []
    return tuple(entries)


def mend(path: Path) -> None:
    """Cut off a last line that a kill, or a power cut, left incomplete; one that lacks only its end gets it.

    Raises UsageError if the file cannot be read, InfraError if it cannot be changed.
    """
    if not path.exists():
        return
    body = _read(path.parent, path.name)
    end = body.rfind(b"\n") + 1
    if end == len(body):
        return
    with writing(path), path.open("r+b") as file:
        if _is_json(body[end:]):
            file.seek(0, os.SEEK_END)
            file.write(b"\n")
        else:
            file.truncate(end)
        os.fsync(file.fileno())


@contextmanager
def writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InfraError(
            f"{path} cannot be written ({error.strerror}); make room or choose another folder; "
            f"what was written before is kept"
        ) from error


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _read(folder: Path, name: str = TRAJECTORY) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise UsageError(
            f"{folder} holds no readable {name}; runs are listed by `warpsmith runs list`"
        ) from error


def _entry(line: bytes) -> Entry:
    """Raises ValueError for what is no event that this version knows."""
    kinds = {kind.__name__: kind for kind in get_args(Event)}
    data = json.loads(line.decode())
    kind = str(data.get("type")) if isinstance(data, dict) else data
    if not isinstance(data, dict) or kind not in kinds:
        raise ValueError(f"unknown event {kind!r:.80}; was it written by another version of warpsmith?")
    try:
        event: Event = from_data(kinds[kind], data)
    except (TypeError, KeyError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"{kind}: {error!r}") from error
    return Entry(at=str(data.get("at", "")), event=event)


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text.decode())
    except ValueError:
        return False
    return True
