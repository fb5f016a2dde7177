"""One process at a time: a file that says who holds it, freed by the kernel however its holder ends."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

MAX_WHO_BYTES = 4096


class Taken(Exception):
    """Somebody else holds the file; `holder` is what they wrote into it, if they have yet."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


def take(path: Path, who: str) -> int:
    """A descriptor that holds `path` until it is closed, or this process ends.

    Raises Taken, and OSError if the file cannot be made or the file system has no locks.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _lock(descriptor)
            if _is_same(descriptor, path):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, who.encode(), 0)
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # whoever held it has ended and removed the file meanwhile


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Taken(os.pread(descriptor, MAX_WHO_BYTES, 0).decode(errors="replace").strip()) from error


def _is_same(descriptor: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False
