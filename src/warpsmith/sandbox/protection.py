"""Read-only files inside a writable folder, where the kernel does not keep them so."""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import Command

RESTORED_BYTES = 16 << 20  # a larger file is made unwritable, but not kept to be restored


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A file as it was."""

    path: Path
    root: Path  # the writable folder around it
    mode: int
    data: bytes | None  # None: too large


@contextmanager
def protected(command: Command) -> Iterator[None]:
    """Take the permission to write from files that the command may only read, and restore them afterwards.

    An owner can give itself the permission back and can replace a file in a folder of its own, so it is the
    restoring that counts. Root needs no permission, and gets the restoring alone.
    """
    kept = [_keep(path, root) for path, root in _nested(command)]
    if os.getuid() != 0:
        for file in kept:
            file.path.chmod(file.mode & ~0o222)
    try:
        yield
    finally:
        for file in kept:
            _restore(file)


def _nested(command: Command) -> Iterator[tuple[Path, Path]]:
    """Every readable file below a writable folder, with that folder, unless named writable more closely."""
    for named in command.readable:
        roots = [root for root in command.writable if named != root and named.is_relative_to(root)]
        for path in _files(named) if roots else ():
            if not any(path.is_relative_to(root) and root.is_relative_to(named) for root in command.writable):
                yield path, roots[0]


def _files(path: Path) -> list[Path]:
    found = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [file for file in found if file.is_file() and not file.is_symlink()]


def _keep(path: Path, root: Path) -> Kept:
    status = path.stat()
    data = path.read_bytes() if status.st_size <= RESTORED_BYTES else None
    return Kept(path=path, root=root, mode=stat.S_IMODE(status.st_mode), data=data)


def _restore(file: Kept) -> None:
    if file.data is None:
        if file.path.is_file() and not file.path.is_symlink():
            file.path.chmod(file.mode)
        return
    _clear_way(file)
    if not file.path.exists() or file.path.read_bytes() != file.data:
        file.path.unlink(missing_ok=True)
        file.path.write_bytes(file.data)
    file.path.chmod(file.mode)


def _clear_way(file: Kept) -> None:
    """Make the folders above the file real folders again, and the file a real file or absent."""
    for folder in reversed(file.path.relative_to(file.root).parents[:-1]):
        place = file.root / folder
        if place.is_symlink() or not place.is_dir():
            place.unlink(missing_ok=True)
            place.mkdir()
    if file.path.is_dir() and not file.path.is_symlink():
        shutil.rmtree(file.path)
    elif file.path.is_symlink() or not file.path.is_file():
        file.path.unlink(missing_ok=True)
