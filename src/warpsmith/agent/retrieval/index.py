"""One SQLite file: documents, and their chunks in an FTS5 table."""

import datetime
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from warpsmith.agent.retrieval.chunks import Chunk
from warpsmith.agent.retrieval.query import expression
from warpsmith.core import EnvironmentMissing, InfraError

VERSION = 1  # of the tables and of how documents are cut: an index of another one is made anew
BUSY_LIMIT_S = 5.0
SNIPPET_WORDS = 40

SCHEMA = f"""
CREATE TABLE documents (
    source TEXT PRIMARY KEY, digest TEXT NOT NULL, added_at TEXT NOT NULL,
    first_chunk INTEGER NOT NULL UNIQUE, last_chunk INTEGER NOT NULL
);
CREATE VIRTUAL TABLE chunks USING fts5(name, heading, text, tokenize = 'porter unicode61');
PRAGMA user_version = {VERSION};
"""

WEIGHTS = (2.0, 4.0, 1.0)  # of a word in the name, in a heading and in the text: benchmarks/retrieval.py

SEARCH = f"""
SELECT (SELECT source FROM documents WHERE first_chunk <= found.rowid ORDER BY first_chunk DESC LIMIT 1),
    heading, text, snippet
FROM (
    SELECT rowid, heading, text, snippet(chunks, 2, '', '', ' … ', {SNIPPET_WORDS}) AS snippet
    FROM chunks WHERE chunks MATCH ? ORDER BY bm25(chunks, ?, ?, ?), rowid LIMIT ?
) AS found
"""

REMEDIES = {
    sqlite3.SQLITE_BUSY: "another program is using it; wait until that has ended, and repeat",
    sqlite3.SQLITE_LOCKED: "another program is using it; wait until that has ended, and repeat",
    sqlite3.SQLITE_FULL: "make room on that disk",
    sqlite3.SQLITE_READONLY: "change its permissions and its folder's",
    sqlite3.SQLITE_CANTOPEN: "change its permissions and its folder's",
    sqlite3.SQLITE_PERM: "change its permissions and its folder's",
}
ANEW = "it holds nothing that you do not have: delete it, and add your documents again (warpsmith docs add)"
PRIMARY = 0xFF  # of an error's code: the rest is detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A chunk that was found, and where it is from."""

    source: str
    heading: str
    text: str
    snippet: str  # the part of the text where the words stand


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A document in the index."""

    source: str
    digest: str
    added_at: str  # UTC
    num_chunks: int


class Index:
    """Raises InfraError, naming the file and what to do, if it cannot be read or written."""

    def __init__(self, path: Path | None) -> None:
        """The file is made if there is none; without a path it is in memory."""
        self.path = path
        with self._explained():
            self._connection = sqlite3.connect(
                ":memory:" if path is None else path, timeout=BUSY_LIMIT_S, isolation_level=None
            )
        try:
            with self._explained():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        if self._is_new():
            with self._changing():  # another process may be making it: only one of them does
                if self._is_new():
                    for statement in filter(str.strip, SCHEMA.split(";")):
                        self._connection.execute(statement)
        version = self._version()
        if version != VERSION:
            raise InfraError(f"{self.path} is of version {version}, not {VERSION}, of the index; {ANEW}")

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _is_new(self) -> bool:
        has_tables = self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None
        return self._version() == 0 and not has_tables

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def search(
        self, query: str, n: int, weights: tuple[float, float, float] = WEIGHTS
    ) -> tuple[Excerpt, ...]:
        """At most `n` chunks that hold some of the query's words, the best first."""
        wanted = expression(query)
        if not wanted:
            return ()
        with self._explained(), closing(self._connection.execute(SEARCH, (wanted, *weights, n))) as rows:
            return tuple(
                Excerpt(source=source, heading=heading, text=text, snippet=" ".join(snippet.split()))
                for source, heading, text, snippet in rows
            )

    def documents(self) -> tuple[Listed, ...]:
        """All, by source."""
        asked = "SELECT source, digest, added_at, last_chunk - first_chunk + 1 FROM documents ORDER BY source"
        with self._explained(), closing(self._connection.execute(asked)) as rows:
            return tuple(
                Listed(source=source, digest=digest, added_at=added_at, num_chunks=num_chunks)
                for source, digest, added_at, num_chunks in rows
            )

    def put(self, source: str, name: str, digest: str, chunks: Sequence[Chunk]) -> None:
        """A document of at least one chunk, in place of the one of this source; words of `name` find it."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        with self._changing():
            self._drop(source)
            (last,) = self._connection.execute(
                "SELECT coalesce(max(last_chunk), 0) FROM documents"
            ).fetchone()
            self._connection.executemany(
                "INSERT INTO chunks (rowid, name, heading, text) VALUES (?, ?, ?, ?)",
                ((last + 1 + n, name, chunk.heading, chunk.text) for n, chunk in enumerate(chunks)),
            )
            self._connection.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?)",
                (source, digest, now, last + 1, last + len(chunks)),
            )

    def remove(self, sources: Sequence[str]) -> None:
        """What is not there is no error. What is dropped is on the disk no longer."""
        with self._changing():
            for source in sources:
                self._drop(source)
            self._connection.execute("INSERT INTO chunks (chunks) VALUES ('optimize')")
        with self._explained():
            self._connection.execute("VACUUM")

    def _drop(self, source: str) -> None:
        self._connection.execute(
            "DELETE FROM chunks WHERE rowid BETWEEN (SELECT first_chunk FROM documents WHERE source = ?1) "
            "AND (SELECT last_chunk FROM documents WHERE source = ?1)",
            (source,),
        )
        self._connection.execute("DELETE FROM documents WHERE source = ?", (source,))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """All that is done within, or nothing of it."""
        with self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if "fts5" in str(error):
                raise EnvironmentMissing(
                    f"Python's SQLite {sqlite3.sqlite_version} has no FTS5; install a Python that has it"
                ) from error
            code = getattr(error, "sqlite_errorcode", 0) & PRIMARY
            remedy = REMEDIES.get(code, ANEW)
            raise InfraError(f"the index {self.path} cannot be used ({error}); {remedy}") from error
