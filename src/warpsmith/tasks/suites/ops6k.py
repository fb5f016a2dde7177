"""CUDA-Agent-Ops-6K's format: a Parquet file with the columns `code`, `ops` and `data_source`."""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from warpsmith.core import EnvironmentMissing, UsageError
from warpsmith.tasks.store.files import replacing
from warpsmith.tasks.suites.base import Broken, Row, checked, make_room, origin
from warpsmith.tasks.synth.base import Made

COLUMNS = ("code", "ops", "data_source")
BATCH = 512

_DEPTH = re.compile(r".*#(?P<depth>\d{1,4})")


class Ops6K:
    """Rows have no names: a task is called after its place, `ops6k-0042`."""

    form = "a Parquet file with the columns code, ops and data_source"

    def read(self, path: Path, revision: str = "") -> Iterator[Made | Broken]:
        file = _opened(path)
        number = 0
        try:
            for batch in file.iter_batches(batch_size=BATCH, columns=list(COLUMNS)):
                for record in batch.to_pylist():
                    yield _read(record, path, number, revision)
                    number += 1
        except (_arrow().ArrowException, OSError, ValueError, OverflowError) as error:
            raise UsageError(f"{path} is damaged after row {number} ({_one_line(error)})") from error

    def write(self, path: Path, rows: Iterable[Made]) -> int:
        make_room(path)
        pa = _arrow()
        from pyarrow import parquet

        schema = pa.schema(
            [("code", pa.string()), ("ops", pa.list_(pa.string())), ("data_source", pa.string())]
        )
        records = [
            {
                "code": row.task.source,
                "ops": list(row.operators),
                "data_source": row.source or f"torch#{row.depth}",
            }
            for row in rows
        ]
        with replacing(path) as new:
            parquet.write_table(pa.Table.from_pylist(records, schema=schema), new)
        return len(records)


def _read(record: dict[str, Any], path: Path, number: int, revision: str) -> Made | Broken:
    source = record["data_source"] if isinstance(record["data_source"], str) else ""
    depth = _DEPTH.fullmatch(source)
    row = Row(
        where=f"{path}, row {number}",
        name=f"ops6k-{number:04d}",
        code=record["code"],
        provenance=origin("Ops-6K", revision, f"row {number}"),
        operators=operators(record["ops"]),
        depth=int(depth["depth"]) if depth else 0,
        source=source,
    )
    return checked(row)


def operators(value: object) -> tuple[str, ...]:
    """Operators from a list, or from a list that was written as text, in JSON's way or Python's."""
    if isinstance(value, str):
        for read in (json.loads, ast.literal_eval):
            try:
                found = read(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
                continue
            if isinstance(found, list | tuple):
                return operators(list(found))
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return tuple(str(one) for one in value if one is not None) if isinstance(value, list) else ()


def _opened(path: Path) -> Any:
    pa = _arrow()
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path) if path.is_file() else None
        names = file.schema_arrow.names if file is not None else []
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise UsageError(f"{path} is no Parquet file, or a damaged one ({_one_line(error)})") from error
    if file is None:
        raise UsageError(f"{path}: no such file; Ops-6K is {Ops6K.form}")
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        there = ", ".join(names[:20])
        raise UsageError(f"{path} has no column {', '.join(missing)}, only {there}; Ops-6K is {Ops6K.form}")
    return file


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise EnvironmentMissing("Parquet files need pyarrow; pip install 'warpsmith[synth]'") from error
    return pyarrow


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
