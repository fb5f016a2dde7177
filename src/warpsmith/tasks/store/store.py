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

    def find(self, prefix: str) -> Made:
        """The one task whose id begins with `prefix`. Raises UsageError if there is none, or another."""
        from warpsmith.tasks.store import table

        ids = self.ids()
        found = [at for at, one in enumerate(ids) if one.startswith(prefix)]
        if len(found) == 1:
            return table.read_row(self.path, found[0])
        if not found:
            some = ", ".join(one[:12] for one in ids[:4]) or "none at all"
            raise UsageError(f"{self.path} has no task {prefix!r:.80} among its {len(ids)} (such as {some})")
        some = ", ".join(ids[at][: len(prefix) + 6] for at in found[:4])
        raise UsageError(
            f"{prefix!r} begins {len(found)} ids of {self.path} (such as {some}); write more of it"
        )

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
