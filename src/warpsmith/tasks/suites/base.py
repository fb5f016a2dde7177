"""What a suite's format can do, and how a row that is no task is told from one that is."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from warpsmith.core import Task, UsageError
from warpsmith.tasks.file import check_format
from warpsmith.tasks.synth.base import Curriculum, Made

MAX_CODE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A row that is no task. The others are read all the same."""

    where: str  # the file, and the row or line in it
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """All that was read of a suite."""

    made: tuple[Made, ...]
    broken: tuple[Broken, ...]


class Suite(Protocol):
    """One format of many tasks."""

    form: str
    """What is read and written, for whoever names a path."""

    def read(self, path: Path, revision: str = "") -> Iterator[Made | Broken]:
        """Each task, or why a row is none; `revision` (a commit, a tag) is kept in the provenance.

        Raises UsageError if `path` as a whole is not of this format.
        """
        ...

    def write(self, path: Path, rows: Iterable[Made]) -> int:
        """Writes `rows` as others read them, and says how many. Raises UsageError if `path` exists."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a row says, not checked yet."""

    where: str
    name: str
    code: object  # whatever stood there
    provenance: str
    operators: tuple[str, ...] = ()
    depth: int = 0
    source: str = ""
    structure: str = ""
    curriculum: Curriculum | None = None
    split: str = ""
    facts: dict[str, str] = field(default_factory=dict)


def checked(row: Row) -> Made | Broken:
    """The task, if its code is Python in KernelBench's format; nothing is executed."""
    if not isinstance(row.code, str) or not row.code.strip():
        return Broken(where=row.where, reason=f"its code is {_kind(row.code)}, not text")
    try:
        num_bytes = len(row.code.encode())
        if num_bytes > MAX_CODE_BYTES:
            return Broken(where=row.where, reason=f"its code has {num_bytes} bytes; that is no task")
        check_format(row.code, row.name)
    except (UsageError, UnicodeEncodeError) as error:
        return Broken(where=row.where, reason=str(error))
    task = Task(task_id=row.name, source=row.code, provenance=row.provenance)
    return Made(
        task=task,
        operators=row.operators,
        depth=row.depth or len(row.operators),
        structure=row.structure,
        curriculum=row.curriculum,
        split=row.split,
        source=row.source,
        facts=row.facts,
    )


def imported(suite: Suite, path: Path, revision: str = "") -> Imported:
    """All of `path`, tasks and broken rows apart. Raises UsageError as `Suite.read`."""
    rows = list(suite.read(path, revision))
    return Imported(
        made=tuple(row for row in rows if isinstance(row, Made)),
        broken=tuple(row for row in rows if isinstance(row, Broken)),
    )


def origin(suite: str, revision: str, where: str) -> str:
    """A provenance: the suite, its revision if that is known, and the place in it."""
    return f"{suite}@{revision}: {where}" if revision else f"{suite}: {where}"


def make_room(path: Path) -> None:
    """Makes the folder that `path` goes into. Raises UsageError if `path` exists: nothing is replaced."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_there = path.exists()
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    if is_there:
        raise UsageError(f"{path} is there already; an export replaces nothing, name another path")


def _kind(value: object) -> str:
    if value is None or value == "":
        return "missing"
    return "blank" if isinstance(value, str) else f"of type {type(value).__name__}"
