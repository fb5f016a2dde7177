"""One writer at a time: a file that says who it is, freed by the kernel however its holder ends."""

import fcntl
import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from warpsmith.core import UsageError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Holds `path`, a store, for writing. Raises UsageError, naming the other writer, if there is one."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {lock}: {error.strerror}") from error
    try:
        _take(descriptor, path)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)  # the file stays: removing it would let two writers hold two files of one name


def _take(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(descriptor, 4096, 0).decode(errors="replace").strip() or "a process that just began"
        raise UsageError(f"{path} is being written by {holder}; wait for it, or stop it") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be locked on this file system: {error.strerror}") from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, _who().encode(), 0)


def _who() -> str:
    command = json.dumps(" ".join(sys.argv)[:200] or "python")
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"process {os.getpid()} on {socket.gethostname()} ({command}, since {since})"
