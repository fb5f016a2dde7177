"""Files below a folder that a background job may be changing at this very moment.

A path is checked first and used afterwards, and in between a job could put a link in its way that leads out
of the folder. So every part of a path is opened from the descriptor of the folder before it, and no link is
followed; and a file is replaced rather than written into, for it may have a second name elsewhere.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe would else be waited for.
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
PERMISSIONS = 0o777


class NoFile(Exception):
    """What stands there is no regular file."""


class TooLarge(Exception):
    """The file has more bytes than were to be read."""


def read_bytes(root: Path, path: PurePath, max_bytes: int) -> bytes:
    """What the file `path`, relative to `root`, holds. Raises NoFile, TooLarge, OSError; also for a link."""
    with _folder(root, path.parts[:-1], make=False) as folder:
        opened = os.open(path.name or ".", READ, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise NoFile
        data = bytearray()
        while chunk := os.read(opened, max_bytes + 1 - len(data)):
            data += chunk
    finally:
        os.close(opened)
    if len(data) > max_bytes:
        raise TooLarge
    return bytes(data)


def write_bytes(root: Path, path: PurePath, data: bytes) -> None:
    """Put a file there, making its folders; what stood there keeps its permissions. Raises OSError."""
    with _folder(root, path.parts[:-1], make=True) as folder:
        fresh = f".{secrets.token_hex(8)}.tmp"
        with os.fdopen(os.open(fresh, CREATE, 0o644, dir_fd=folder), "wb") as file:
            try:
                file.write(data)
                file.flush()
                _keep_permissions(path.name, folder, file.fileno())
                os.rename(fresh, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(fresh, dir_fd=folder)
                raise


def remove_tree(folder: Path) -> None:
    """Remove a folder that nobody changes any more, however deep: what lies in one below is moved up first.

    Raises OSError.
    """
    while entries := list(os.scandir(folder)):
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)  # noqa: PTH108 - there may be very many
                continue
            for below in list(os.scandir(entry.path)):
                Path(below.path).rename(folder / f".{secrets.token_hex(8)}")
            Path(entry.path).rmdir()
    folder.rmdir()


@contextmanager
def _folder(root: Path, parts: tuple[str, ...], *, make: bool) -> Iterator[int]:
    """A descriptor of the folder that `parts` lead to."""
    here = os.open(root, FOLDER)
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
            below = os.open(part, FOLDER, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _keep_permissions(name: str, folder: int, fresh: int) -> None:
    with suppress(FileNotFoundError):
        before = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(before.st_mode):
            os.fchmod(fresh, before.st_mode & PERMISSIONS)
