"""Rows to Arrow and back; the only file of this room that needs pyarrow."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from warpsmith.core import EnvironmentMissing, Task, UsageError
from warpsmith.core.codec import from_data, from_json, to_json
from warpsmith.tasks.store.about import About
from warpsmith.tasks.synth.base import Curriculum, Made

try:
    import pyarrow as pa
    from pyarrow import parquet
except ImportError as missing:
    raise EnvironmentMissing("stores of tasks need pyarrow; pip install 'warpsmith[synth]'") from missing

VERSION = 1
METADATA = b"warpsmith"
DAMAGE = (pa.ArrowException, OSError, ValueError, OverflowError)
"""What pyarrow raises on a damaged file, names and texts that are no UTF-8 among it."""

BATCH = 512  # rows that are held as Python objects at once

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),  # Task.digest
        pa.field("code", pa.string(), nullable=False),
        pa.field("ops", pa.list_(pa.string()), nullable=False),
        pa.field("data_source", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),  # Task.task_id
        pa.field("depth", pa.int32(), nullable=False),
        pa.field("structure", pa.string(), nullable=False),
        pa.field("curriculum", pa.string()),
        pa.field("split", pa.string(), nullable=False),
        pa.field("provenance", pa.string(), nullable=False),
        pa.field("regime", pa.string(), nullable=False),  # JSON: how the task is judged
        pa.field("facts", pa.string(), nullable=False),  # JSON: what filters found, by name
    ]
)


def table(rows: list[Made], about: About) -> pa.Table:
    """One row a task, in order."""
    records = [_record(row) for row in rows]
    seal = _Seal(about)
    for record in records:
        seal.add(record)
    kept = json.dumps({"version": VERSION, "about": json.loads(to_json(about)), "seal": seal.text})
    made = pa.Table.from_pylist(records, schema=SCHEMA)
    return made.replace_schema_metadata({METADATA: kept.encode()})


def write(content: pa.Table, path: Path) -> None:
    """With checksums, so that a flipped bit is found when it is read."""
    parquet.write_table(content, path, compression="zstd", write_page_checksum=True, row_group_size=BATCH)


def opened(path: Path) -> parquet.ParquetFile:
    """A store's file. Raises UsageError, one line, if it is none."""
    try:
        is_file = path.is_file()
        file = parquet.ParquetFile(path, page_checksum_verification=True) if is_file else None
        names = file.schema_arrow.names if file is not None else []
    except DAMAGE as error:
        raise UsageError(f"{path} is no Parquet file, or a damaged one ({_one_line(error)})") from error
    if file is None:
        raise UsageError(f"{path}: no such file; a store of tasks is a Parquet file")
    missing = [name for name in SCHEMA.names if name not in names]
    if missing:
        raise UsageError(
            f"{path} is no store of tasks: it has no column {', '.join(missing)} (but "
            f"{', '.join(names[:20])}); other suites' files are imported first"
        )
    return file


def read_about(path: Path) -> About:
    """Raises UsageError if the file is no store, or a later version's."""
    return _about(path, opened(path).schema_arrow.metadata or {})[0]


def read_ids(path: Path) -> list[str]:
    """The id of each row, in order. Raises UsageError if the file is no store, or damaged."""
    return [str(record["id"]) for record in _records(path, ["id"])]


def read_names(path: Path) -> list[str]:
    """What the task of each row is called, in order. Raises UsageError as `read_ids`."""
    return [str(record["name"]) for record in _records(path, ["name"])]


def read(path: Path) -> Iterator[Made]:
    """Every row in order. Raises UsageError if the file is no store, or damaged, at the latest at its end."""
    about, sealed = _about(path, opened(path).schema_arrow.metadata or {})
    seal = _Seal(about)
    for number, record in enumerate(_records(path, SCHEMA.names)):
        seal.add(record)
        yield _made(record, f"{path}, row {number}")
    if seal.text != sealed:
        raise UsageError(f"{path} is damaged, or was changed by somebody else: it is not what was written")


def read_row(path: Path, number: int) -> Made:
    """One row. Raises UsageError as `read`."""
    read_about(path)
    file, offset, group = opened(path), number, 0
    while offset >= (num_rows := file.metadata.row_group(group).num_rows):
        offset, group = offset - num_rows, group + 1
    try:
        record = file.read_row_group(group).slice(offset, 1).to_pylist()[0]
    except DAMAGE as error:
        raise UsageError(f"{path} is damaged ({_one_line(error)}); restore it, or write it again") from error
    return _made(record, f"{path}, row {number}")


def _records(path: Path, columns: list[str]) -> Iterator[dict[str, Any]]:
    file = opened(path)
    try:
        for batch in file.iter_batches(batch_size=BATCH, columns=columns):
            yield from batch.to_pylist()
    except DAMAGE as error:
        raise UsageError(f"{path} is damaged ({_one_line(error)}); restore it, or write it again") from error


class _Seal:
    """A digest over all that is read, so that rows that went missing or changed are noticed."""

    def __init__(self, about: About) -> None:
        self._hash = hashlib.sha256(to_json(about).encode())

    def add(self, record: dict[str, Any]) -> None:
        self._hash.update(json.dumps([record[name] for name in SCHEMA.names], default=str).encode())

    @property
    def text(self) -> str:
        return self._hash.hexdigest()


def _about(path: Path, metadata: dict[bytes, bytes]) -> tuple[About, str]:
    """What was said of the store, and its seal."""
    try:
        kept = json.loads(metadata[METADATA])
        version = int(kept["version"])
        known = (from_data(About, kept["about"]), str(kept["seal"])) if version <= VERSION else None
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} does not say what a store says of itself; write it again") from error
    if known is None:
        raise UsageError(f"{path} is a store of version {version}, this warpsmith reads up to {VERSION}")
    return known


def _record(row: Made) -> dict[str, Any]:
    regime = json.loads(to_json(replace(row.task, source="", provenance="", task_id="")))
    return {
        "id": row.task.digest,
        "code": row.task.source,
        "ops": list(row.operators),
        "data_source": row.source,
        "name": row.task.task_id,
        "depth": row.depth,
        "structure": row.structure,
        "curriculum": row.curriculum,
        "split": row.split,
        "provenance": row.task.provenance,
        "regime": json.dumps({name: value for name, value in regime.items() if name not in _OWN_COLUMNS}),
        "facts": json.dumps(row.facts),
    }


_OWN_COLUMNS = ("type", "task_id", "source", "provenance")


def _made(record: dict[str, Any], where: str) -> Made:
    """Raises UsageError if the row is not what was written: its id is the digest of its content."""
    own = {"task_id": record["name"], "source": record["code"], "provenance": record["provenance"]}
    try:
        task = from_json(Task, json.dumps({**json.loads(record["regime"]), **own}))
        made = Made(
            task=task,
            operators=tuple(record["ops"]),
            depth=int(record["depth"]),
            structure=record["structure"],
            curriculum=Curriculum(record["curriculum"]) if record["curriculum"] is not None else None,
            split=record["split"],
            source=record["data_source"],
            facts={str(name): str(value) for name, value in json.loads(record["facts"]).items()},
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"{where}: not a task ({_one_line(error)})") from error
    if task.digest != record["id"]:
        raise UsageError(f"{where}: its id {record['id']!r:.80} is not the digest of what it holds")
    return made


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
