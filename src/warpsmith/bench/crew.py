"""The worker processes of a bench, seen from the bench: who is there, what each is at, what they say."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from warpsmith.bench.folder import Folder
from warpsmith.bench.protocol import Ended, Job, Said, read_said, written
from warpsmith.bench.worker import LOCK_FD

COMMAND = (sys.executable, "-m", "warpsmith.bench.worker")


@dataclass(slots=True, kw_only=True, eq=False)
class Worker:
    """One process, and the task that it is at."""

    number: int
    process: "subprocess.Popen[str]"
    job: Job | None = None
    since_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Something that a worker said, or that it has ended."""

    worker: Worker
    said: Said | Ended


@dataclass(slots=True, kw_only=True)
class Crew:
    """Starts workers as they are needed, at most `size` at a time; use as a context manager.

    `places` are settings of the environment that workers take in turn, such as a GPU for each.
    """

    folder: Folder
    size: int
    places: Sequence[dict[str, str]] = ({},)
    room_bytes: int = 0  # of a GPU's memory at each place, for the jobs there together
    command: Sequence[str] = COMMAND
    clock: Callable[[], float] = time.monotonic
    workers: list[Worker] = field(default_factory=list)
    _heard: "SimpleQueue[Heard]" = field(default_factory=SimpleQueue)

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, *_: object) -> None:
        self.dismiss()

    @property
    def busy(self) -> list[Worker]:
        return [worker for worker in self.workers if worker.job is not None]

    def idle(self) -> list[Worker]:
        """Those that have nothing to do; one is started if all are busy and there may be more."""
        waiting = [worker for worker in self.workers if worker.job is None]
        if waiting or len(self.workers) >= self.size:
            return waiting
        return [self._started()]

    def has_room(self, worker: Worker, job: Job) -> bool:
        """Whether the job's memory is free at the worker's place; what needs all of it has to be alone."""
        others = [
            other.job.memory_bytes
            for other in self.busy
            if other.job is not None and self._place(other.number) == self._place(worker.number)
        ]
        return not others or sum(others) + job.memory_bytes <= self.room_bytes or not job.memory_bytes

    def _place(self, number: int) -> int:
        return (number - 1) % len(self.places)

    def give(self, worker: Worker, job: Job) -> None:
        """A worker that has died since says so by its end."""
        worker.job, worker.since_s = job, self.clock()
        assert worker.process.stdin is not None
        try:
            worker.process.stdin.write(written(job))
            worker.process.stdin.flush()
        except OSError:
            worker.process.kill()

    def hear(self, limit_s: float) -> Heard | None:
        """What is said next, or nothing for so long."""
        try:
            heard = self._heard.get(timeout=max(0.0, limit_s))
        except Empty:
            return None
        if isinstance(heard.said, Ended) and heard.worker in self.workers:
            self.workers.remove(heard.worker)
            _close(heard.worker)
        return heard

    def interrupt(self) -> None:
        """Let those that work finish their step."""
        for worker in self.busy:
            worker.process.send_signal(signal.SIGINT)

    def dismiss(self, limit_s: float = 5.0) -> None:
        """End all of them: what is not done within the limit is killed, and can be gone on with."""
        for worker in self.workers:
            _close(worker)
        end_s = time.monotonic() + limit_s
        for worker in self.workers:
            try:
                worker.process.wait(max(0.0, end_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
        self.workers.clear()

    def _started(self) -> Worker:
        number = next(n for n in range(1, self.size + 1) if n not in {w.number for w in self.workers})
        place = self.places[self._place(number)]
        with self.folder.log(number).open("ab") as log:
            process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
                errors="replace",
                env=os.environ | place | {LOCK_FD: str(self.folder.lock)},
                pass_fds=(self.folder.lock,),
                start_new_session=True,
            )
        worker = Worker(number=number, process=process)
        self.workers.append(worker)
        threading.Thread(target=self._listen, args=(worker,), daemon=True).start()
        return worker

    def _listen(self, worker: Worker) -> None:
        assert worker.process.stdout is not None
        with worker.process.stdout as lines:
            for line in lines:
                try:
                    self._heard.put(Heard(worker=worker, said=read_said(line)))
                except (ValueError, TypeError, KeyError):
                    worker.process.kill()  # what says nonsense is not to be trusted with a task
        self._heard.put(Heard(worker=worker, said=Ended(code=worker.process.wait())))


def _close(worker: Worker) -> None:
    """Nothing more is said to it: it ends, if it has not yet."""
    assert worker.process.stdin is not None
    with suppress(OSError):  # of what was not read any more
        worker.process.stdin.close()
