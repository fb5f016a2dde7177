"""The run folder: what an episode leaves behind, written as it goes: even a killed run can be read."""

import os
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from warpsmith.agent.events import (
    Built,
    Busy,
    Event,
    Finished,
    Forked,
    Improved,
    Judged,
    Resumed,
    Said,
    Sampled,
    Started,
    TurnEnded,
)
from warpsmith.agent.runs.lock import locked
from warpsmith.agent.runs.log import TRAJECTORY, Entry, EventLog, Lines, mend, now, read_events, writing
from warpsmith.agent.runs.snapshot import Blobs
from warpsmith.core import (
    BuildFailed,
    Candidate,
    Cost,
    Crashed,
    EnvironmentMissing,
    Role,
    Solution,
    StopReason,
    Task,
    UsageError,
    Verdict,
)
from warpsmith.core.candidate import MODULE
from warpsmith.core.codec import to_json

__all__ = [
    "BLOBS",
    "LOCK",
    "LOGS",
    "RUNS",
    "TASK",
    "TOKENS",
    "TRAJECTORY",
    "VERDICT",
    "WORKSPACE",
    "Outcome",
    "Record",
    "read_events",
]

VERDICT = "verdict.json"
TASK = "task.py"
LOGS = "logs"
BLOBS = "blobs"
TOKENS = "tokens.jsonl"
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
        self.blobs = Blobs(folder / BLOBS)
        self.task = task
        self._lock_fd = lock_fd
        self._environment: dict[str, str] = {}
        self._has_begun = False
        self._tokens: Lines | None = None
        with writing(folder):
            (folder / LOGS).mkdir(exist_ok=True)
            self._log = EventLog(folder / TRAJECTORY)

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
            descriptor = locked(folder / LOCK)
        except OSError as error:
            raise EnvironmentMissing(
                f"{folder} cannot be written ({error.strerror}); choose another folder for the run"
            ) from error
        try:
            _check_empty(folder)
            with writing(folder / TASK):
                (folder / TASK).write_text(task.source, encoding="utf-8")
            return cls(folder, task, descriptor)
        except BaseException:
            os.close(descriptor)
            raise

    @classmethod
    def reopen(cls, folder: Path, read_task: Callable[[Path], Task]) -> Self:
        """Take the folder of a run that was killed, and cut off what it had not written to the end.

        `read_task` is asked once nobody else can change the folder.

        Raises:
            UsageError: it is no run, another process holds it, or `read_task` says so; nothing is touched.
            EnvironmentMissing: it cannot be written.
        """
        if not (folder / TRAJECTORY).is_file():
            raise UsageError(f"{folder} holds no {TRAJECTORY}; runs are listed by `warpsmith runs list`")
        try:
            descriptor = locked(folder / LOCK)
        except OSError as error:
            raise EnvironmentMissing(f"{folder} cannot be written ({error.strerror})") from error
        try:
            task = read_task(folder)
            for name in (TRAJECTORY, TOKENS):
                mend(folder / name)
            record = cls(folder, task, descriptor)
        except BaseException:
            (folder / LOCK).unlink(missing_ok=True)
            os.close(descriptor)
            raise
        record._has_begun = True
        return record

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
        for lines in (self._log, self._tokens):
            if lines is not None:
                lines.close()
        if error is not None and not self._has_begun:
            self._discard()
        (self.folder / LOCK).unlink(missing_ok=True)
        os.close(self._lock_fd)

    def on_event(self, event: Event) -> None:
        match event:
            case Busy():
                return
            case Sampled():
                self._keep_tokens(event)
            case Built(digest=digest, log=log):
                self._keep_log(digest, log)
            case _:
                self._log.append(event)
                if _is_milestone(event):
                    self._log.sync()
                self._follow(event)

    def _follow(self, event: Event) -> None:
        """Bring the other files up to what the trajectory tells by now."""
        match event:
            case Started(environment=environment) | Resumed(environment=environment):
                self._environment = environment
                self._has_begun = True
            case Improved(solution=solution):
                self.show(solution)
            case Judged(digest=digest, verdict=BuildFailed(log=log) | Crashed(log=log)):
                self._keep_log(digest, log)
            case Finished():
                self._finish(event)
            case _:
                pass

    def begin_fork(self, beginning: Started, forked: Forked, entries: Iterable[Entry]) -> None:
        """Begin with the events of another run, at the times that they were told there."""
        own = (Entry(at=now(), event=event) for event in (beginning, forked))
        self._log.append_all((*own, *entries))
        self._log.sync()
        self._follow(beginning)

    def show(self, best: Solution | None) -> None:
        """Make program and verdict in the folder those of the best so far."""
        if best is not None:
            self._write_program(best.candidate)
            self._write_outcome(self._outcome(best))
            return
        self._remove_program()
        with writing(self.folder):
            (self.folder / VERDICT).unlink(missing_ok=True)

    def _keep_tokens(self, event: Sampled) -> None:
        """A turn that was done again after a kill stands there twice: the last one counts."""
        if self._tokens is None:
            with writing(self.folder):
                self._tokens = Lines(self.folder / TOKENS)
        self._tokens.append(to_json(event))

    def _keep_log(self, digest: str, log: str) -> None:
        """What the compiler or the program said, by the candidate's digest."""
        with writing(self.folder):
            _replace(self.folder / LOGS / f"{digest[:16]}.log", log or "(no message)\n")

    def _finish(self, event: Finished) -> None:
        if event.best is None:
            self._remove_program()
        else:
            self._write_program(event.best.candidate)
        self._write_outcome(self._outcome(event.best, event))

    def _outcome(self, solution: Solution | None, end: Finished | None = None) -> Outcome:
        return Outcome(
            task_id=self.task.task_id,
            task_digest=self.task.digest,
            candidate_digest=None if solution is None else solution.candidate.digest,
            verdict=None if solution is None else solution.verdict,
            is_final=end is not None,
            stop=None if end is None else end.stop,
            cost=Cost() if end is None else end.cost,
            num_turns=None if end is None else end.num_turns,
            finished_at=None if end is None else now(),
            environment=self._environment,
        )

    def _write_outcome(self, outcome: Outcome) -> None:
        with writing(self.folder):
            _replace(self.folder / VERDICT, to_json(outcome, indent=2) + "\n")

    def _write_program(self, candidate: Candidate) -> None:
        """Replace model_new.py and kernels/ by the candidate's: written apart, then moved into place."""
        fresh, stale = self.folder / ".fresh", self.folder / ".stale"
        with writing(self.folder):
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
        with writing(self.folder):
            (self.folder / MODULE).unlink(missing_ok=True)
            shutil.rmtree(self.folder / "kernels", ignore_errors=True)

    def _discard(self) -> None:
        """Nothing has happened in this run: leave no trace of it."""
        for path in (self.folder / TASK, self.folder / TRAJECTORY):
            path.unlink(missing_ok=True)
        for folder in (self.workspace, self.folder / BLOBS):
            shutil.rmtree(folder, ignore_errors=True)
        (self.folder / LOCK).unlink(missing_ok=True)
        for folder in (self.folder / LOGS, self.folder):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def _is_milestone(event: Event) -> bool:
    """What has cost money, or is gone back to: it survives a power cut too."""
    match event:
        case Said(message=message):
            return message.role is Role.ASSISTANT
        case Started() | Improved() | TurnEnded() | Resumed() | Finished():
            return True
        case _:
            return False


def _check_empty(folder: Path) -> None:
    others = sorted(path.name for path in folder.iterdir() if path.name != LOCK)
    if others:
        raise UsageError(f"{folder} is not empty ({', '.join(others[:4])}); choose a new folder for the run")


def _replace(path: Path, text: str) -> None:
    """Write a file so that a reader, or a kill, sees the old text or the new one."""
    fresh = path.with_name(f".{path.name}.fresh")
    try:
        fresh.write_text(text, encoding="utf-8", errors="replace")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
