"""A bench's folder: the plan, a small record a task, each there whole or not at all, and a run a task.

bench.json             the plan
records/<key>.json     a task's outcome: the task is done once this is here
tasks/<key>/           its run, as `warpsmith optimize` leaves it; one that failed for us is moved aside
audits/<key>.json      what is wrong with the task itself
logs/worker-<n>.log    what a worker process and its libraries said
"""

import json
import math
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from warpsmith.bench.plan import FORMAT, Plan, joined
from warpsmith.bench.record import Fate, TaskRecord
from warpsmith.bench.suite import Name
from warpsmith.core import EnvironmentMissing, Timing, UsageError
from warpsmith.core.codec import from_data, to_json
from warpsmith.core.lock import Taken, take
from warpsmith.tasks.store.files import replacing

T = TypeVar("T")

PLAN = "bench.json"
RECORDS = "records"
TASKS = "tasks"
AUDITS = "audits"
LOGS = "logs"
LOCK = ".lock"
RUNS = Path("runs")

ORPHANS_S = 30.0  # that workers of a killed bench may take to end
DAMAGE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
MAX_FILE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a folder holds. `damaged` are files of records that cannot be read, and why."""

    folder: Path
    plan: Plan
    records: tuple[TaskRecord, ...]
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A bench's folder, held by this process and its workers. `lock` is theirs to inherit."""

    path: Path
    plan: Plan
    lock: int

    def keep(self, record: TaskRecord) -> None:
        """Raises InfraError if the disk refuses."""
        with replacing(self.path / RECORDS / f"{record.name.key}.json") as new:
            new.write_text(to_json(record, indent=1) + "\n", encoding="utf-8")

    def run(self, key: str) -> Path:
        """The folder of a task's run."""
        return self.path / TASKS / key

    def audit(self, key: str) -> Path:
        return self.path / AUDITS / f"{key}.json"

    def log(self, number: int) -> Path:
        return self.path / LOGS / f"worker-{number}.log"


@contextmanager
def held(path: Path, plan: Plan) -> Iterator[Folder]:
    """Take `path`, which is new, empty, or holds a bench of the same settings to go on with.

    Raises:
        UsageError: another process works in it, or it holds something else; nothing is touched.
        EnvironmentMissing: it cannot be written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        _check_is_ours(path)
        lock = _locked(path / LOCK)
    except OSError as error:
        raise EnvironmentMissing(f"{path} cannot be written ({error.strerror}); choose another") from error
    try:
        known = joined(read_plan(path), plan, path) if (path / PLAN).exists() else plan
        for name in (RECORDS, TASKS, AUDITS, LOGS):
            (path / name).mkdir(exist_ok=True)
        with replacing(path / PLAN) as new:
            new.write_text(to_json(known, indent=1) + "\n", encoding="utf-8")
        yield Folder(path=path, plan=known, lock=lock)
    finally:
        os.close(lock)


def done_in(path: Path) -> frozenset[str]:
    """The keys of what is finished there, if it is a bench; where we failed it is not."""
    if not (path / PLAN).is_file():
        return frozenset()
    return frozenset(record.name.key for record in read(path).records if record.fate is not Fate.OURS)


def default_folder(suite: str, runs: Path = RUNS) -> Path:
    """A name that is not taken: runs/bench-<date>-<suite>-<n>."""
    name = re.sub(r"[^\w.-]+", "_", suite)[:60]
    stem = f"bench-{datetime.now(UTC):%Y-%m-%d}-{name}"
    return next(folder for number in range(1, 10_000) if not (folder := runs / f"{stem}-{number}").exists())


def read(path: Path) -> Kept:
    """A bench's folder, also while it is worked in. Raises UsageError if it is none."""
    plan = read_plan(path)
    records: list[TaskRecord] = []
    damaged: list[str] = []
    for name in plan.names:
        file = path / RECORDS / f"{name.key}.json"
        if not file.exists():
            continue
        try:
            record = _read(TaskRecord, file)
        except UsageError as error:
            damaged.append(str(error))
            continue
        problem = _problem(record, name, plan)
        if problem:
            damaged.append(f"{file} {problem}")
        else:
            records.append(record)
    return Kept(folder=path, plan=plan, records=tuple(records), damaged=tuple(damaged))


def read_plan(path: Path) -> Plan:
    if not (path / PLAN).is_file():
        raise UsageError(f"{path} holds no bench: there is no {PLAN} in it")
    plan = _read(Plan, path / PLAN)
    if plan.format != FORMAT:
        raise UsageError(
            f"{path} was made by another version of warpsmith (format {plan.format}, not {FORMAT})"
        )
    return plan


def read_audit(path: Path, kind: type[T]) -> T | None:
    """An audit that was kept; None if there is none that can be read."""
    try:
        return _read(kind, path) if path.exists() else None
    except UsageError:
        return None


def _read(kind: type[T], file: Path) -> T:
    """Raises UsageError, one line, for a file that is damaged or of another version."""
    try:
        with file.open("rb") as opened:
            body = opened.read(MAX_FILE_BYTES)
        return from_data(kind, json.loads(body))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}") from error
    except DAMAGE as error:
        raise UsageError(f"{file} is damaged ({type(error).__name__}: {error!s:.120})") from error


def _problem(record: TaskRecord, name: Name, plan: Plan) -> str:
    """Why a record that can be read is not one of this bench's; nothing if it is."""
    if record.name.digest != name.digest:
        return "is of another task than the plan's"
    if record.device != plan.device:
        return f"was made on {record.device}, and the bench is on {plan.device}"
    return "" if record.timing is None or _are_times(record.timing) else "gives times that cannot be"


def _are_times(timing: Timing) -> bool:
    series = [one for one in (timing.candidate, timing.eager, timing.compile) if one is not None]
    ratios = [one for one in (timing.against_eager, timing.against_compile) if one is not None]
    values = [timing.floor_us, *(value for one in ratios for value in (one.centre, one.low, one.high))]
    values += [sample for one in series for sample in one.samples_us]
    return all(one.samples_us for one in series) and all(0.0 < value < math.inf for value in values)


def _check_is_ours(path: Path) -> None:
    others = sorted(entry.name for entry in path.iterdir() if entry.name != LOCK)
    if others and PLAN not in others:
        raise UsageError(
            f"{path} is not empty ({', '.join(others[:4])}) and holds no bench; choose a new folder"
        )


def _locked(path: Path) -> int:
    """The workers of a bench that was killed hold its lock for the moment that they take to end."""
    end_s = time.monotonic() + ORPHANS_S
    while True:
        try:
            return take(path, f"{os.getpid()}\n")
        except Taken as taken:
            if _is_alive(taken.holder) or time.monotonic() > end_s:
                raise UsageError(
                    f"{path.parent} is in use by a bench with process id {taken.holder or 'unknown'}; "
                    "wait, stop it, or take another folder"
                ) from taken
            time.sleep(0.1)


def _is_alive(holder: str) -> bool:
    try:
        os.kill(int(holder), 0)
    except PermissionError:
        return True
    except (OSError, ValueError, OverflowError):
        return False
    return True
