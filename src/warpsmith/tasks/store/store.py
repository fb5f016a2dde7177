"""A store: read by anybody at any time, written by one process at a time, each time as a whole."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import Task, UsageError
from warpsmith.tasks.store.about import About
from warpsmith.tasks.store.card import CARD, card, is_ours
from warpsmith.tasks.store.files import replacing
from warpsmith.tasks.store.lock import writing
from warpsmith.tasks.synth.base import Made

SUFFIX = ".parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of the rows that were handed over."""

    num_added: int
    num_known: int  # whose content was there already: left as it was
    num_rows: int  # of the store now


@dataclass(frozen=True, slots=True)
class Store:
    """One Parquet file in a folder, with a card (README.md) beside it.

    Whoever reads sees the file as it was before a write or after it, never between. A write that fails or is
    killed leaves the file as it was; if it is killed between the renames of file and card, the card is the
    older one until the next write. Iterating gives Task objects; `rows` gives all that is known of each.
    """

    path: Path

    def __iter__(self) -> Iterator[Task]:
        """Raises UsageError if the file is missing, damaged, or no store; likewise all that follow."""
        return (row.task for row in self.rows())

    def __len__(self) -> int:
        return len(self.ids())

    def rows(self) -> Iterator[Made]:
        """Every task with what is known of it, in order."""
        from warpsmith.tasks.store import table

        return table.read(self.path)

    def ids(self) -> list[str]:
        """The id of each task, in order."""
        from warpsmith.tasks.store import table

        return table.read_ids(self.path)

    def about(self) -> About:
        """What was said of the store as a whole."""
        from warpsmith.tasks.store import table

        return table.read_about(self.path)

    def names(self) -> list[str]:
        """What each task is called, in order; several may be called the same."""
        from warpsmith.tasks.store import table

        return table.read_names(self.path)

    def such_as(self) -> str:
        """One of its tasks, by name and by id; empty if there are none."""
        names, ids = self.names(), self.ids()
        return f" (such as {names[0]!r:.80}, which is {ids[0][:12]})" if ids else ""

    def find(self, name: str) -> Made:
        """The one task that is called `name`, or whose id begins so.

        Raises UsageError, with names that are near, if there is none, or more than one.
        """
        from warpsmith.tasks.store import table

        ids = self.ids()
        found = [at for at, one in enumerate(self.names()) if one == name]
        how = "is the name of"
        if not found:
            found = [at for at, one in enumerate(ids) if one.startswith(name.lower())]
            how = "begins the ids of"
        if len(found) == 1:
            return table.read_row(self.path, found[0])
        if not found:
            raise UsageError(f"{self.path} has no task {name!r:.80} among its {len(ids)}{self._near(name)}")
        some = ", ".join(ids[at][: len(name) + 6] for at in found[:4])
        raise UsageError(
            f"{name!r:.80} {how} {len(found)} tasks of {self.path}; write more of an id (such as {some})"
        )

    def _near(self, name: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(name, sorted(set(self.names())), n=3)
        return f"; near it is {' or '.join(f'{one!r:.80}' for one in near)}" if near else self.such_as()

    def write(self, rows: Iterable[Made], about: About | None = None) -> Written:
        """Makes the store anew of `rows`, each id once. Raises UsageError if somebody else writes it."""
        with self._held():
            return self._put([], rows, about or About())

    def append(self, rows: Iterable[Made], about: About | None = None) -> Written:
        """Adds those of `rows` that are new to it; makes the store if there is none.

        `about` replaces what was said of the store. Raises UsageError if somebody else writes it, or what is
        there is damaged: it is left as it is.
        """
        with self._held():
            is_there = self.path.exists()
            old = list(self.rows()) if is_there else []
            return self._put(old, rows, about or (self.about() if is_there else About()))

    def _held(self) -> AbstractContextManager[None]:
        if self.path.suffix != SUFFIX:
            raise UsageError(f"{self.path} is no name for a store; it ends with {SUFFIX}")
        readme = self.path.with_name(CARD)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            is_folder = self.path.is_dir()
            is_foreign = readme.exists() and not is_ours(readme, self.path.name)
        except OSError as error:
            raise UsageError(f"{self.path} cannot be written: {error.strerror}") from error
        if is_folder:
            raise UsageError(f"{self.path} is a folder; a store is a file")
        if is_foreign:
            raise UsageError(f"{readme} is not this store's card; give the store a folder of its own")
        return writing(self.path)

    def _put(self, old: list[Made], rows: Iterable[Made], about: About) -> Written:
        from warpsmith.tasks.store import table

        kept = {row.task.digest: row for row in old}
        num_old, num_given = len(kept), 0
        for row in rows:
            num_given += 1
            kept.setdefault(row.task.digest, row)
        content = table.table(list(kept.values()), about)
        with replacing(self.path) as new:
            table.write(content, new)
        with replacing(self.path.with_name(CARD)) as new:
            new.write_text(card(self.path.name, list(kept.values()), about), encoding="utf-8")
        num_added = len(kept) - num_old
        return Written(num_added=num_added, num_known=num_given - num_added, num_rows=len(kept))
