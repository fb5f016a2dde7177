"""One process at a time: a file that the kernel frees when its holder ends, however it ends."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from warpsmith.core import UsageError


def locked(path: Path) -> int:
    """A descriptor that holds `path` until it is closed, or this process ends, however it ends.

    Raises UsageError if someone else holds it, OSError if it cannot be written.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _lock(descriptor, path)
            if _is_same(descriptor, path):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # whoever held it has ended and removed the file meanwhile


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(descriptor, 64, 0).decode(errors="replace").strip() or "unknown"
        raise UsageError(
            f"{path.parent} is in use by a run with process id {holder}; "
            "wait, stop it, or take another folder"
        ) from error


def _is_same(descriptor: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False
