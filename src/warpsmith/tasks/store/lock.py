"""A store has one writer at a time, and whoever comes second is told who that is."""

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from warpsmith.core import UsageError
from warpsmith.core.lock import Taken, take


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Holds `path`, a store, for writing. Raises UsageError, naming the other writer, if there is one."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        descriptor = take(lock, _who())
    except Taken as taken:
        holder = taken.holder or "a process that just began"
        raise UsageError(f"{path} is being written by {holder}; wait for it, or stop it") from taken
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {lock}: {error.strerror}") from error
    try:
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)  # the file stays, as it says that nobody writes


def _who() -> str:
    command = json.dumps(" ".join(sys.argv)[:200] or "python")
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"process {os.getpid()} on {socket.gethostname()} ({command}, since {since})"
