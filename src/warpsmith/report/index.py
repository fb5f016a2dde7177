"""A list of runs that parses only what has changed since the last one: an SQLite file of `Entry`s.

It is a cache and nothing else: the run folders are what counts. An index that is damaged, of another version,
locked or unwritable costs time and never the list.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from warpsmith.core.codec import from_json, to_json
from warpsmith.report.listing import Entry, as_of_now, entry_of
from warpsmith.report.runs import DAMAGE, MARKS, is_run, read_run, run_folders
from warpsmith.toolchain import default_store

VERSION = 1
"""To be raised whenever `Entry` or what it is made from changes its meaning."""

WAIT_S = 1.0  # for another process that writes; without the index the list is only slower
PASSING = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_CANTOPEN,
)
SCHEMA = (
    "DROP TABLE IF EXISTS runs",
    "CREATE TABLE runs (folder BLOB PRIMARY KEY, place BLOB, stamp TEXT, entry TEXT) WITHOUT ROWID",
    "CREATE INDEX places ON runs (place)",
    f"PRAGMA user_version = {VERSION}",
)


def default_path() -> Path:
    """The index of this user, for run folders wherever they lie."""
    return default_store().root / "runs.sqlite"


def list_entries(place: Path, path: Path) -> tuple[Entry, ...]:
    """`place` itself if it is a run, else the runs in it, by name; `path` is the index.

    Raises OSError if the folder cannot be listed.
    """
    if is_run(place):
        return (entry_of(read_run(place)),)
    folders = run_folders(place)
    index = Index(path, place)
    known = index.known()
    entries: list[Entry] = []
    fresh: dict[bytes, tuple[str, Entry]] = {}
    for folder in folders:
        # Taken before the run is read: what is written meanwhile makes it differ the next time.
        stamp = _stamp(folder)
        entry = _recalled(folder, stamp, known)
        if entry is None:
            entry = entry_of(read_run(folder))
            if not entry.is_broken:  # a reason, such as permissions, may pass without a file's changing
                fresh[_key(folder)] = stamp, entry
        entries.append(entry)
    index.update(fresh, known.keys() - set(map(_key, folders)))
    return tuple(entries)


class Index:
    """The part of the index that is about the runs in one folder."""

    def __init__(self, path: Path, place: Path) -> None:
        self._path = path
        self._place = _key(place)

    def known(self) -> dict[bytes, tuple[str, str]]:
        """By folder: what its files looked like, and the entry of then. Empty if nothing can be had."""
        if not self._path.exists():
            return {}
        try:
            with self._opened() as base:
                if not _is_current(base):
                    return {}
                rows = base.execute("SELECT folder, stamp, entry FROM runs WHERE place = ?", (self._place,))
                return {folder: (stamp, entry) for folder, stamp, entry in rows}
        except (sqlite3.Error, OSError):
            return {}

    def update(self, fresh: Mapping[bytes, tuple[str, Entry]], gone: Iterable[bytes]) -> None:
        """Keep the `fresh` and forget the `gone`; a file that is no index any more is made anew."""
        stale = [(folder,) for folder in gone]
        rows = [(folder, self._place, stamp, to_json(entry)) for folder, (stamp, entry) in fresh.items()]
        if not stale and not rows:
            return
        try:
            self._write(rows, stale)
        except sqlite3.Error as error:
            if not _may_pass(error):
                self._made_anew(rows)
        except OSError:
            return

    def _write(self, rows: Sequence[tuple[bytes, bytes, str, str]], stale: Sequence[tuple[bytes]]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._opened() as base:
            base.execute("BEGIN IMMEDIATE")
            if not _is_current(base):
                for statement in SCHEMA:
                    base.execute(statement)
            base.executemany("DELETE FROM runs WHERE folder = ?", stale)
            base.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", rows)
            base.execute("COMMIT")

    def _made_anew(self, rows: Sequence[tuple[bytes, bytes, str, str]]) -> None:
        try:
            for name in (self._path.name, f"{self._path.name}-journal"):
                self._path.with_name(name).unlink(missing_ok=True)
            self._write(rows, ())
        except (sqlite3.Error, OSError):
            return

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path, timeout=WAIT_S, isolation_level=None)) as base:
            base.execute("PRAGMA synchronous = OFF")  # what a power cut damages is made anew
            yield base


def _may_pass(error: sqlite3.Error) -> bool:
    """Whether the file may be sound all the same: locked, read-only, on a full disk."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in PASSING


def _is_current(base: sqlite3.Connection) -> bool:
    return bool(base.execute("PRAGMA user_version").fetchone() == (VERSION,))


def _recalled(folder: Path, stamp: str, known: Mapping[bytes, tuple[str, str]]) -> Entry | None:
    """The entry of a run that has not changed; None if it has, or if what was kept cannot be read."""
    before, text = known.get(_key(folder), ("", ""))
    if before != stamp:
        return None
    try:
        return as_of_now(replace(from_json(Entry, text), folder=folder))
    except DAMAGE:
        return None


def _stamp(folder: Path) -> str:
    """What tells that a run has changed: size, time and identity of its two files."""
    return " ".join(_file_stamp(folder / mark) for mark in MARKS)


def _file_stamp(path: Path) -> str:
    try:
        about = path.stat()
    except OSError:
        return "-"
    return f"{about.st_size}:{about.st_mtime_ns}:{about.st_ino}"


def _key(folder: Path) -> bytes:
    """A path as bytes: a name need not be text."""
    return os.fsencode(folder.absolute())
