"""A run's folder has one process that writes it."""

import os
from pathlib import Path

from warpsmith.core import UsageError
from warpsmith.core.lock import Taken, take


def locked(path: Path) -> int:
    """A descriptor that holds `path` until it is closed, or this process ends, however it ends.

    Raises UsageError if someone else holds it, OSError if it cannot be written.
    """
    try:
        return take(path, f"{os.getpid()}\n")
    except Taken as taken:
        raise UsageError(
            f"{path.parent} is in use by a run with process id {taken.holder or 'unknown'}; "
            "wait, stop it, or take another folder"
        ) from taken
