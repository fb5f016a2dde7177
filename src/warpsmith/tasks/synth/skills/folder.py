"""A folder of skills: written as a whole, read by whoever trains."""

import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import UsageError
from warpsmith.tasks.store.files import replacing
from warpsmith.tasks.store.lock import writing
from warpsmith.tasks.synth.skills.card import MARK, card
from warpsmith.tasks.synth.skills.skill import Kind, Skill

PARQUET, JSONL, CARD = "skills.parquet", "skills.jsonl", "README.md"


@dataclass(frozen=True, slots=True)
class Skills:
    """skills.parquet, the same rows in skills.jsonl, and a card. Iterating gives typed skills, in order.

    Raises UsageError on reading if there are none, or if what is there is damaged or no longer what was
    written; on writing if another process writes, or if the folder holds a README.md of somebody else's.
    """

    folder: Path

    def __iter__(self) -> Iterator[Skill]:
        from warpsmith.tasks.synth.skills import table

        path = self.folder / PARQUET
        for number, row in enumerate(table.read(path)):
            yield table.skill_of(row, f"{path}, row {number}")

    def of(self, *kinds: Kind) -> Iterator[Skill]:
        """Those of some kinds, in order."""
        return (skill for skill in self if skill.kind in kinds)

    def write(self, skills: Iterable[Skill]) -> int:
        """Makes the folder anew of `skills`, each once; how many there are now."""
        from warpsmith.tasks.synth.skills import table

        with self._held():
            rows = list({skill.digest: table.record(skill) for skill in skills}.values())
            with replacing(self.folder / PARQUET) as new:
                table.write(rows, new)
            with replacing(self.folder / JSONL) as new:
                lines = (json.dumps(row, allow_nan=False) + "\n" for row in rows)
                new.write_text("".join(lines), encoding="utf-8")
            with replacing(self.folder / CARD) as new:
                new.write_text(card(rows, table.COLUMNS), encoding="utf-8")
        return len(rows)

    def _held(self) -> AbstractContextManager[None]:
        readme = self.folder / CARD
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            is_foreign = readme.exists() and not readme.read_text(errors="replace").startswith(MARK)
        except OSError as error:
            raise UsageError(f"{self.folder} cannot be written: {error.strerror}; name another") from error
        if is_foreign:
            raise UsageError(f"{readme} is not a card of skills; give the skills a folder of their own")
        return writing(self.folder / PARQUET)
