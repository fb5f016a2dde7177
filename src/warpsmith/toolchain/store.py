"""What was built, kept by the content that it was built from: each key is built once, whoever asks.

root/entries/ab/abcdef…/   files of one entry and entry.json, which holds their hashes; appears by one rename
root/work/abcdef…/         where the holder of the key's lock builds
root/locks/abcdef….lock    flock'd: the kernel frees it when its holder dies
root/baselines/            times of references, which the judge keeps there
"""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock, Timeout

from warpsmith.core import InfraError

VARIABLE = "WARPSMITH_CACHE"
MANIFEST = "entry.json"
LOCK_LIMIT_S = 900.0  # longer than any build: its compilers are bounded


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that was made, and the folder that holds its files."""

    folder: Path
    data: Any  # JSON, as the maker gave it
    is_cached: bool


class NotKept(Exception):
    """Raised by a maker whose outcome would differ another time; nothing is stored."""


@dataclass(frozen=True, slots=True)
class Store:
    """A folder of entries that any number of processes may share."""

    root: Path

    @property
    def baselines(self) -> Path:
        """Where times of references are kept."""
        return self.root / "baselines"

    def fetch(self, key: str, make: Callable[[Path], Any]) -> Entry:
        """The entry under `key`; if there is none, `make(folder)` fills a folder and returns its JSON data.

        An entry whose files no longer match their hashes is made again. What `make` raises passes
        through, and leaves nothing behind.

        Raises:
            InfraError: the disk is full or the store cannot be written, or its lock stays taken.
        """
        with self._explained():
            entry = self._read(
                key
            )  # without the lock: entries appear whole, and a read-only store still serves
            if entry is not None:
                return entry
            with self._locked(key):
                return self._read(key) or self._make(key, make)

    def _folder(self, key: str) -> Path:
        return self.root / "entries" / key[:2] / key

    def _read(self, key: str) -> Entry | None:
        """None if there is no entry, or not a sound one."""
        folder = self._folder(key)
        try:
            manifest = json.loads((folder / MANIFEST).read_text())
            sound = all(_digest(folder / name) == digest for name, digest in manifest["files"].items())
            return Entry(folder=folder, data=manifest["data"], is_cached=True) if sound else None
        except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def _make(self, key: str, make: Callable[[Path], Any]) -> Entry:
        work = self.root / "work" / key
        shutil.rmtree(work, ignore_errors=True)  # a killed builder's
        work.mkdir(parents=True)
        try:
            data = make(work)
            files = {path.relative_to(work).as_posix(): _digest(path) for path in _files(work)}
            (work / MANIFEST).write_text(json.dumps({"data": data, "files": files}))
            folder = self._folder(key)
            if folder.exists():  # unsound: moved away first, since a rename does not replace a full folder
                shutil.rmtree(folder)
            folder.parent.mkdir(parents=True, exist_ok=True)
            work.rename(folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        return Entry(folder=folder, data=data, is_cached=False)

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        locks = self.root / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(locks / f"{key}.lock", timeout=LOCK_LIMIT_S):
                yield
        except Timeout as error:
            raise InfraError(
                f"another process has held {error.lock_file} for {LOCK_LIMIT_S:.0f} s; end it, or set "
                f"{VARIABLE} to a folder of your own"
            ) from error

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"cannot write the build store {self.root}: {os.strerror(error.errno or errno.EIO)}"
            fix = "free some space or set" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "set"
            raise InfraError(f"{what}; {fix} {VARIABLE} to a folder on a disk that can be written") from error


def default_store() -> Store:
    """The user's own store, or the one that WARPSMITH_CACHE names."""
    chosen = os.environ.get(VARIABLE)
    return Store(
        Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("warpsmith") / "builds"
    )


def content_key(parts: tuple[str, ...]) -> str:
    """One key over `parts`, in order; no two different tuples share it."""
    key = hashlib.sha256()
    for part in parts:
        body = part.encode()
        key.update(f"{len(body)}\0".encode())
        key.update(body)
    return key.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
