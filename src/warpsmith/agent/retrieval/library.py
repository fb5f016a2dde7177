"""The user's own documents in an index of theirs, beside our pages."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

import platformdirs

from warpsmith.agent.memory.notes import Notes
from warpsmith.agent.retrieval.chunks import chunks
from warpsmith.agent.retrieval.index import Excerpt, Index, Listed
from warpsmith.agent.retrieval.readers import READERS, Unreadable, content_of
from warpsmith.agent.retrieval.shipped import shipped
from warpsmith.core import UsageError
from warpsmith.core.lock import Taken, take

VARIABLE = "WARPSMITH_DOCS"
INDEX, LOCK = "index.sqlite", "index.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A file that was not added. The others are all the same."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What came of a list of files and folders."""

    new: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: tuple[str, ...]
    broken: tuple[Broken, ...]

    @property
    def num_read(self) -> int:
        return len(self.new) + len(self.replaced) + len(self.unchanged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The index in one folder. One process at a time changes it, any number may read."""

    folder: Path

    @property
    def index_path(self) -> Path:
        return self.folder / INDEX

    @property
    def notes(self) -> Notes:
        """What runs have taught, beside the index: who deletes that keeps these."""
        return Notes(folder=self.folder)

    def search(self, query: str, n: int) -> tuple[Excerpt, ...]:
        """At most `n` excerpts, the best first: of our pages and of the user's documents by turns.

        Notes that were accepted count as pages of ours. A score says how rare words are in its own index, so
        that those of two indexes do not compare; ranks do. Raises InfraError if the user's index or notes
        cannot be used.
        """
        own = self._own(query, n)
        by_turns = chain.from_iterable(zip_longest(shipped(query, n, self.notes.accepted()), own))
        return tuple(excerpt for excerpt in by_turns if excerpt is not None)[:n]

    def _own(self, query: str, n: int) -> tuple[Excerpt, ...]:
        if not self.index_path.exists():
            return ()
        with Index(self.index_path) as index:
            return index.search(query, n)

    def documents(self) -> tuple[Listed, ...]:
        """The user's own, by path. Raises InfraError if the index cannot be used."""
        if not self.index_path.exists():
            return ()
        with Index(self.index_path) as index:
            return index.documents()

    def add(self, paths: Sequence[Path]) -> Added:
        """Reads files, and folders with all below them; a file that was there already is replaced.

        What was read before an interruption is kept. Raises UsageError if a path does not exist, a folder
        holds nothing to read or somebody else is changing the index, InfraError if the index cannot be used.
        """
        files = list(dict.fromkeys(chain.from_iterable(_files(path) for path in paths)))
        with self._changing() as index:
            known = {listed.source: listed.digest for listed in index.documents()}
            outcomes: dict[str, list[str]] = {"new": [], "replaced": [], "unchanged": []}
            broken: list[Broken] = []
            for path, name in files:
                try:
                    outcomes[_put(index, path, name, known.get(str(path)))].append(str(path))
                except Unreadable as error:
                    broken.append(Broken(source=str(path), reason=str(error)))
        return Added(
            new=tuple(outcomes["new"]),
            replaced=tuple(outcomes["replaced"]),
            unchanged=tuple(outcomes["unchanged"]),
            broken=tuple(broken),
        )

    def remove(self, paths: Sequence[Path]) -> tuple[str, ...]:
        """The documents that were dropped: these files, and all below these folders, which need not exist.

        Raises UsageError if nothing of a path is in the index or somebody else is changing it, InfraError if
        the index cannot be used.
        """
        with self._changing() as index:
            sources = [listed.source for listed in index.documents()]
            chosen = dict.fromkeys(chain.from_iterable(_under(path, sources) for path in paths))
            index.remove(tuple(chosen))
        return tuple(chosen)

    @contextmanager
    def _changing(self) -> Iterator[Index]:
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            held = take(self.folder / LOCK, f"{os.getpid()}\n")
        except Taken as taken:
            raise UsageError(
                f"{self.index_path} is being changed by process {taken.holder or 'unknown'}; wait until that "
                f"has ended, and repeat, or set {VARIABLE} to another folder"
            ) from taken
        try:
            with Index(self.index_path) as index:
                yield index
        finally:
            os.close(held)


def default_library() -> Library:
    """The user's own, or the one in the folder that WARPSMITH_DOCS names."""
    chosen = os.environ.get(VARIABLE)
    return Library(
        folder=Path(chosen).expanduser() if chosen else platformdirs.user_data_path("warpsmith") / "docs"
    )


def _put(index: Index, path: Path, name: str, known: str | None) -> str:
    """Whether it was new, replaced or unchanged. Raises Unreadable."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise Unreadable("its name is no text in UTF-8; give it another") from error
    content = content_of(path)
    if known == content.digest:
        return "unchanged"
    index.put(str(path), name, content.digest, chunks(content.sections()))
    return "new" if known is None else "replaced"


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    """The files to be read, each with the name that it is found by."""
    absolute = _absolute(path)
    if not absolute.exists():
        raise UsageError(
            f"{path}: no such file or folder; name files ({', '.join(READERS)}) or folders of them"
        )
    if not absolute.is_dir():
        yield absolute, absolute.name
        return
    found = sorted(_below(absolute))
    if not found:
        raise UsageError(f"{path} holds no file that is read; accepted are {', '.join(READERS)}")
    yield from ((one, str(one.relative_to(absolute.parent))) for one in found)


def _below(folder: Path) -> Iterator[Path]:
    """All files of a kind that is read, hidden ones and links to folders apart."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(parent, name) for name in names if not name.startswith("."))
        yield from (path for path in paths if path.suffix.lower() in READERS)


def _under(path: Path, sources: Sequence[str]) -> list[str]:
    name = str(_absolute(path))
    found = [source for source in sources if source == name or source.startswith(f"{name.rstrip('/')}/")]
    if not found:
        raise UsageError(f"nothing of {path} is in the index; `warpsmith docs list` shows what is")
    return found


def _absolute(path: Path) -> Path:
    """Without links in its folders: two ways to a file are one source, whether it is still there or not."""
    return path.parent.resolve() / path.name if path.name not in ("", "..") else path.resolve()
