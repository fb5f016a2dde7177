"""Where tensors are exchanged: a private folder, in memory where there is room, removed at the end.

Each folder holds a locked file. The lock ends with its process, however that ends, so what a killed run left
behind is found by an unlocked folder, and removed by the next run.
"""

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import IO

from warpsmith.core import InfraError

PREFIX = "warpsmith-judge-"
LOCK = "lock"
MEMORY_FOLDER = Path("/dev/shm")
MEMORY_ROOM_BYTES = 4 << 30
YOUNG_S = 60.0  # a folder may not have got its lock yet


class Scratch:
    """A folder of this process alone."""

    def __init__(self, parent: Path | None) -> None:
        """`parent` None chooses. Raises InfraError if no folder can be made there."""
        parent = parent or _roomy_folder()
        try:
            remove_abandoned(parent)
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            self._lock = _locked(self.path / LOCK)
        except OSError as error:
            raise InfraError(
                f"cannot make a scratch folder in {parent}: {error.strerror or error}"
            ) from error

    def folder(self, name: str) -> Path:
        """A new folder inside."""
        path = self.path / name
        try:
            path.mkdir(parents=True)
        except OSError as error:
            raise InfraError(f"cannot make {path}: {error.strerror or error}") from error
        return path

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def remove_abandoned(parent: Path) -> None:
    """Remove the scratch folders that runs left behind that were killed."""
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            if time.time() - folder.stat().st_mtime < YOUNG_S or folder.stat().st_uid != os.getuid():
                continue
            _locked(folder / LOCK).close()
        except OSError:
            continue  # in use, or just removed by another
        shutil.rmtree(folder, ignore_errors=True)


def _roomy_folder() -> Path:
    if MEMORY_FOLDER.is_dir() and os.access(MEMORY_FOLDER, os.W_OK):
        room = os.statvfs(MEMORY_FOLDER)
        if room.f_bavail * room.f_frsize >= MEMORY_ROOM_BYTES:
            return MEMORY_FOLDER
    return Path(tempfile.gettempdir())


def _locked(path: Path) -> IO[bytes]:
    """Raises OSError if another process holds it."""
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise
    return file
