"""Nsight Systems: how it is started, and a reader of its sqlite export.

The export's tables (docs.nvidia.com/nsight-systems, "SQLite Export Schema Reference") are made only where
there is something to put into them, and columns come and go between versions. So each is looked for first.
Times are ns.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from warpsmith.agent.diagnosis.trace import (
    CALL,
    Activity,
    ApiCall,
    Copy,
    Direction,
    Fill,
    Kernel,
    Span,
    Trace,
    TraceError,
    trace_of,
)

TOOL = "Nsight Systems"
REPORT = "report"
DIRECTIONS = {1: Direction.TO_DEVICE, 2: Direction.TO_HOST, 8: Direction.WITHIN}  # CUpti_ActivityMemcpyKind
MAX_ROWS = 200_000

Row = dict[str, Any]


def options(home: Path) -> tuple[str, ...]:
    """What stands between the program's name and the command that it watches; it writes below `home`."""
    return (
        "profile",
        *("--trace", "cuda,nvtx", "--sample", "none", "--cpuctxsw", "none"),
        *("--capture-range", "cudaProfilerApi", "--capture-range-end", "stop"),
        *("--export", "sqlite", "--force-overwrite", "true", "--output", str(home / REPORT)),
    )


def export(home: Path) -> Path:
    """Where the export lies after a run."""
    return home / f"{REPORT}.sqlite"


def read(path: Path) -> Trace:
    """Raises TraceError if it is no such export. What ran under the profiler could have written it."""
    try:
        # An immutable file needs no journal beside it, and a schema that is not trusted runs no functions.
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as database:
            database.row_factory = sqlite3.Row
            database.execute("PRAGMA trusted_schema = OFF")
            return trace_of(TOOL, _activity(database))
    except (sqlite3.Error, KeyError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, TraceError):
            raise
        raise TraceError(f"Nsight Systems' export cannot be read: {error}") from error


def _activity(database: sqlite3.Connection) -> Activity:
    texts = {row["id"]: str(row["value"]) for row in _rows(database, "StringIds")}
    return Activity(
        ranges=[
            _span(row)
            for row in _rows(database, "NVTX_EVENTS")
            if CALL in (row.get("text"), texts.get(row.get("textId"))) and row.get("end") is not None
        ],
        kernels=[_kernel(row, texts) for row in _rows(database, "CUPTI_ACTIVITY_KIND_KERNEL")],
        copies=[_copy(row) for row in _rows(database, "CUPTI_ACTIVITY_KIND_MEMCPY")],
        fills=[_fill(row) for row in _rows(database, "CUPTI_ACTIVITY_KIND_MEMSET")],
        api=[_api(row, texts) for row in _rows(database, "CUPTI_ACTIVITY_KIND_RUNTIME")],
        num_sms=_num_sms(database),
    )


def _rows(database: sqlite3.Connection, table: str) -> Iterator[Row]:
    # A plain table: a view or a virtual one would run what its author wrote.
    known = database.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? AND sql LIKE 'CREATE TABLE %'",
        (table,),
    )
    if known.fetchone() is None:
        return
    # `table` is one of ours, never a name from the file.
    for count, row in enumerate(database.execute(f"SELECT * FROM {table}")):
        if count == MAX_ROWS:
            raise TraceError(f"Nsight Systems' export holds more than {MAX_ROWS} rows of {table}")
        yield dict(row)


def _span(row: Row) -> Span:
    return Span(start_us=_start_us(row), duration_us=_duration_us(row))


def _kernel(row: Row, texts: dict[int, str]) -> Kernel:
    names = (texts.get(row.get(column, -1)) for column in ("demangledName", "shortName", "mangledName"))
    return Kernel(
        start_us=_start_us(row),
        duration_us=_duration_us(row),
        name=next((name for name in names if name), "?"),
        grid=_triple(row, "grid"),
        block=_triple(row, "block"),
        registers=int(row.get("registersPerThread") or 0),
        shared_bytes=int(row.get("staticSharedMemory") or 0) + int(row.get("dynamicSharedMemory") or 0),
        stream=int(row.get("streamId") or 0),
    )


def _triple(row: Row, what: str) -> tuple[int, int, int]:
    x, y, z = (int(row[f"{what}{axis}"]) for axis in "XYZ")
    if min(x, y, z) < 1:
        raise TraceError(f"Nsight Systems' export has a kernel whose {what} is ({x}, {y}, {z})")
    return x, y, z


def _copy(row: Row) -> Copy:
    return Copy(
        start_us=_start_us(row),
        duration_us=_duration_us(row),
        direction=DIRECTIONS.get(row.get("copyKind", -1), Direction.OTHER),
        num_bytes=int(row.get("bytes") or 0),
    )


def _fill(row: Row) -> Fill:
    return Fill(start_us=_start_us(row), duration_us=_duration_us(row), num_bytes=int(row.get("bytes") or 0))


def _api(row: Row, texts: dict[int, str]) -> ApiCall:
    versioned = texts.get(row.get("nameId", -1), "?")
    name, _, version = versioned.rpartition("_v")
    return ApiCall(
        start_us=_start_us(row),
        duration_us=_duration_us(row),
        name=name if name and version.isdigit() else versioned,
    )


def _num_sms(database: sqlite3.Connection) -> int | None:
    for table, column in (("TARGET_INFO_CUDA_DEVICE", "numMultiprocessors"), ("TARGET_INFO_GPU", "smCount")):
        for row in _rows(database, table):
            if int(row.get(column) or 0) > 0:
                return int(row[column])
    return None


def _start_us(row: Row) -> float:
    return int(row["start"]) / 1e3


def _duration_us(row: Row) -> float:
    return max(int(row["end"]) - int(row["start"]), 0) / 1e3
