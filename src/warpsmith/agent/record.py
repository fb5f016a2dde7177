"""The run folder: what an episode leaves behind, written as it goes: even a killed run can be read."""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self, get_args

from warpsmith.agent.events import Built, Busy, Event, Finished, Improved, Judged, Started
from warpsmith.core import (
    BuildFailed,
    Candidate,
    Cost,
    Crashed,
    EnvironmentMissing,
    InfraError,
    Solution,
    StopReason,
    Task,
    UsageError,
    Verdict,
)
from warpsmith.core.candidate import MODULE
from warpsmith.core.codec import from_data, to_json

TRAJECTORY = "trajectory.jsonl"
VERDICT = "verdict.json"
TASK = "task.py"
LOGS = "logs"
WORKSPACE = "workspace"
LOCK = ".lock"
RUNS = Path("runs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What verdict.json holds: the best program so far, or the verdict of record once `is_final`."""

    task_id: str
    task_digest: str
    candidate_digest: str | None
    verdict: Verdict | None
    is_final: bool
    stop: StopReason | None = None
    cost: Cost = field(default_factory=Cost)
    num_turns: int | None = None
    finished_at: str | None = None
    environment: dict[str, str] = field(default_factory=dict)


class Record:
    """One run's folder, held by one process. A listener: every event becomes a line of trajectory.jsonl.

    Raises InfraError when the disk is full or goes away; what was written before stays.
    """

    def __init__(self, folder: Path, task: Task, lock_fd: int) -> None:
        self.folder = folder
        self.workspace = folder / WORKSPACE
        self._task = task
        self._lock_fd = lock_fd
        self._environment: dict[str, str] = {}
        self._has_begun = False
        with _writing(folder):
            (folder / LOGS).mkdir()
            (folder / TASK).write_text(task.source, encoding="utf-8")
            self._lines = EventLog(folder / TRAJECTORY)

    @classmethod
    def create(cls, folder: Path, task: Task) -> Self:
        """Take `folder`, which must be new or empty.

        Raises:
            UsageError: another run holds it, or it holds something already; nothing is touched.
            EnvironmentMissing: it cannot be written.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / LOCK).exists():
                _check_empty(folder)
            descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise EnvironmentMissing(
                f"{folder} cannot be written ({error.strerror}); choose another folder for the run"
            ) from error
        try:
            _lock(descriptor, folder)
            return cls(folder, task, descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    @classmethod
    def create_default(cls, task: Task, runs: Path = RUNS) -> Self:
        """A new folder runs/<date>-<task>-<n>."""
        name = re.sub(r"[^\w.-]+", "_", task.task_id)[:60] or "task"
        stem = f"{datetime.now(UTC):%Y-%m-%d}-{name}"
        for number in range(1, 10_000):
            folder = runs / f"{stem}-{number}"
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                raise EnvironmentMissing(
                    f"{folder} cannot be made ({error.strerror}); choose another folder for the run"
                ) from error
            return cls.create(folder, task)
        raise UsageError(f"{runs} holds 9999 runs of {name} from today; clean it up")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lines.close()
        if error is not None and not self._has_begun:
            self._discard()
        (self.folder / LOCK).unlink(missing_ok=True)
        os.close(self._lock_fd)

    def on_event(self, event: Event) -> None:
        if not isinstance(event, Busy | Built):
            self._lines.append(event)
        match event:
            case Started(environment=environment):
                self._environment = environment
                self._has_begun = True
            case Improved(solution=solution):
                self._write_program(solution.candidate)
                self._write_outcome(self._outcome(solution))
            case Built(digest=digest, log=log):
                self._keep_log(digest, log)
            case Judged(digest=digest, verdict=BuildFailed(log=log) | Crashed(log=log)):
                self._keep_log(digest, log)
            case Finished():
                self._finish(event)
            case _:
                pass

    def _keep_log(self, digest: str, log: str) -> None:
        """What the compiler or the program said, by the candidate's digest."""
        with _writing(self.folder):
            _replace(self.folder / LOGS / f"{digest[:16]}.log", log or "(no message)\n")

    def _finish(self, event: Finished) -> None:
        if event.best is None:
            self._remove_program()
        else:
            self._write_program(event.best.candidate)
        self._write_outcome(self._outcome(event.best, event))

    def _outcome(self, solution: Solution | None, end: Finished | None = None) -> Outcome:
        return Outcome(
            task_id=self._task.task_id,
            task_digest=self._task.digest,
            candidate_digest=None if solution is None else solution.candidate.digest,
            verdict=None if solution is None else solution.verdict,
            is_final=end is not None,
            stop=None if end is None else end.stop,
            cost=Cost() if end is None else end.cost,
            num_turns=None if end is None else end.num_turns,
            finished_at=None if end is None else _now(),
            environment=self._environment,
        )

    def _write_outcome(self, outcome: Outcome) -> None:
        with _writing(self.folder):
            _replace(self.folder / VERDICT, to_json(outcome, indent=2) + "\n")

    def _write_program(self, candidate: Candidate) -> None:
        """Replace model_new.py and kernels/ by the candidate's: written apart, then moved into place."""
        fresh, stale = self.folder / ".fresh", self.folder / ".stale"
        with _writing(self.folder):
            for leftover in (fresh, stale):
                shutil.rmtree(leftover, ignore_errors=True)
            (fresh / "kernels").mkdir(parents=True)
            candidate.write(fresh)
            stale.mkdir()
            if (self.folder / "kernels").exists():
                (self.folder / "kernels").rename(stale / "kernels")
            (fresh / "kernels").rename(self.folder / "kernels")
            (fresh / MODULE).replace(self.folder / MODULE)
            for leftover in (fresh, stale):
                shutil.rmtree(leftover, ignore_errors=True)

    def _remove_program(self) -> None:
        """What had passed has failed since: no file shall claim otherwise. The trajectory still has it."""
        with _writing(self.folder):
            (self.folder / MODULE).unlink(missing_ok=True)
            shutil.rmtree(self.folder / "kernels", ignore_errors=True)

    def _discard(self) -> None:
        """Nothing has happened in this run: leave no trace of it."""
        for path in (self.folder / TASK, self.folder / TRAJECTORY):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.workspace, ignore_errors=True)
        (self.folder / LOCK).unlink(missing_ok=True)
        for folder in (self.folder / LOGS, self.folder):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


class EventLog:
    """Events as lines of JSON, each flushed before `append` returns: a kill loses at most the last one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("a", encoding="utf-8")

    def append(self, event: Event) -> None:
        """Raises InfraError, one line, if the disk refuses."""
        with _writing(self._path):
            self._file.write(f'{{"at": "{_now()}", {to_json(event)[1:]}\n')
            self._file.flush()

    def close(self) -> None:
        """What a full disk still holds back is given up; `append` has reported it."""
        try:
            self._file.close()
        except OSError:
            return


def read_events(folder: Path) -> tuple[Event, ...]:
    """All events of a run, but for a last line that a kill cut short. Raises UsageError if it is no run."""
    try:
        lines = (folder / TRAJECTORY).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{folder} holds no readable {TRAJECTORY}; runs are listed by `warpsmith runs list`"
        ) from error
    events = []
    for number, line in enumerate(lines, 1):
        try:
            events += [_event(line)] if line else []
        except ValueError as error:
            if number < len(lines):
                raise UsageError(f"{folder / TRAJECTORY}, line {number}: {error}") from error
    return tuple(events)


def _event(line: str) -> Event:
    kinds = {kind.__name__: kind for kind in get_args(Event)}
    data = json.loads(line)
    if data.get("type") not in kinds:
        raise ValueError(f"unknown event {data.get('type')!r}")
    event: Event = from_data(kinds[data["type"]], data)
    return event


def _lock(descriptor: int, folder: Path) -> None:
    """Hold the lock until this process ends, however it ends. Raises UsageError if someone else does."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(descriptor, 64, 0).decode(errors="replace").strip() or "unknown"
        raise UsageError(
            f"{folder} is in use by a run with process id {holder}; wait, stop it, or take another folder"
        ) from error
    _check_empty(folder)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)


def _check_empty(folder: Path) -> None:
    others = sorted(path.name for path in folder.iterdir() if path.name != LOCK)
    if others:
        raise UsageError(f"{folder} is not empty ({', '.join(others[:4])}); choose a new folder for the run")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _replace(path: Path, text: str) -> None:
    """Write a file so that a reader, or a kill, sees the old text or the new one."""
    fresh = path.with_name(f".{path.name}.fresh")
    try:
        fresh.write_text(text, encoding="utf-8", errors="replace")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InfraError(
            f"{path} cannot be written ({error.strerror}); make room or choose another folder; "
            f"what was written before is kept"
        ) from error
