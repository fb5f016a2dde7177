"""JSON lines: an object a line, of which `code` is needed, and what else we write is kept."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from warpsmith.core import UsageError
from warpsmith.tasks.store.files import replacing
from warpsmith.tasks.suites.base import MAX_CODE_BYTES, Broken, Row, checked, make_room, origin
from warpsmith.tasks.suites.ops6k import operators
from warpsmith.tasks.synth.base import Curriculum, Made

MAX_LINE_BYTES = 2 * MAX_CODE_BYTES


class JsonLines:
    """A line has what a store's row has, but for how a task is judged; its id is Task.digest."""

    form = "a file of JSON lines, each an object with code"

    def read(self, path: Path, revision: str = "") -> Iterator[Made | Broken]:
        try:
            file = path.open("rb")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise UsageError(f"{path} cannot be read: {reason}; name {self.form}") from error
        return self._read(file, path, revision)

    def _read(self, file: BinaryIO, path: Path, revision: str) -> Iterator[Made | Broken]:
        with file:
            for number, line in enumerate(_lines(file), start=1):
                if line.strip():
                    yield _read(line, path, number, revision)

    def write(self, path: Path, rows: Iterable[Made]) -> int:
        make_room(path)
        lines = [json.dumps(_record(row)) for row in rows]
        with replacing(path) as new:
            new.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return len(lines)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Lines, a longer one than any task cut and its rest dropped, so that no file fills the memory."""
    while line := file.readline(MAX_LINE_BYTES + 1):
        yield line
        while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES + 1)


def _read(line: bytes, path: Path, number: int, revision: str) -> Made | Broken:
    where = f"{path}, line {number}"
    if len(line) > MAX_LINE_BYTES:
        return Broken(where=where, reason=f"longer than {MAX_LINE_BYTES >> 20} MiB; that is no task")
    try:
        record = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return Broken(where=where, reason=f"not JSON ({error})")
    if not isinstance(record, dict):
        return Broken(where=where, reason=f"a {type(record).__name__}, not an object with code")
    row = Row(
        where=where,
        name=_text(record.get("name")) or _text(record.get("id")) or f"{path.stem}-{number}",
        code=record.get("code"),
        provenance=_text(record.get("provenance")) or origin(path.name, revision, f"line {number}"),
        operators=operators(record.get("ops")),
        depth=_depth(record.get("depth")),
        source=_text(record.get("data_source")),
        structure=_text(record.get("structure")),
        curriculum=_curriculum(record.get("curriculum")),
        split=_text(record.get("split")),
        facts=_facts(record.get("facts")),
    )
    return checked(row)


def _record(row: Made) -> dict[str, Any]:
    return {
        "id": row.task.digest,
        "name": row.task.task_id,
        "code": row.task.source,
        "ops": list(row.operators),
        "data_source": row.source,
        "depth": row.depth,
        "structure": row.structure,
        "curriculum": row.curriculum,
        "split": row.split,
        "provenance": row.task.provenance,
        "facts": row.facts,
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _depth(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 31 else 0


def _curriculum(value: object) -> Curriculum | None:
    return next((one for one in Curriculum if one == value), None)


def _facts(value: object) -> dict[str, str]:
    return {str(name): str(one) for name, one in value.items()} if isinstance(value, dict) else {}
