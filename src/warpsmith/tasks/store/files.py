"""Files that are there whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warpsmith.core import InfraError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to; once that is on disk, it takes the place of `path`, by one rename.

    A writer that fails or is killed leaves `path` as it was. One that was killed leaves its own file too,
    under a name that the next writer takes. Raises InfraError if the disk is full or cannot be written.
    """
    new = path.with_name(f".{path.name}.new")
    try:
        yield new
        _flush(new)
        new.replace(path)
        _flush(path.parent)
    except OSError as error:
        raise InfraError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        new.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
