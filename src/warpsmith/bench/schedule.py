"""Who works on which task when: the tasks in order, a second try for what failed for us, an end in time."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from warpsmith.bench.crew import Crew, Worker
from warpsmith.bench.folder import Folder
from warpsmith.bench.footprint import FEWEST_INPUTS
from warpsmith.bench.protocol import Doing, Done, Ended, Failed, Interrupted, Job
from warpsmith.bench.record import Fate, TaskRecord
from warpsmith.bench.work import ours
from warpsmith.core import EnvironmentMissing, UsageError

MAX_TRIES = 2
OUT_OF_MEMORY = "out of memory"  # so CUDA and torch call it
GRACE_S = 45.0  # for a step to be finished once it is to end; what takes longer is killed, and goes on later
BEAT_S = 0.5
OVERTIME_S = 1800.0  # beyond a task's own budget, for its audit and its last step, before its worker is stuck


class Watcher(Protocol):
    """Who wants to see it."""

    def on_begun(self, worker: int, job: Job) -> None: ...

    def on_doing(self, worker: int, what: str) -> None: ...

    def on_done(self, worker: int, record: TaskRecord) -> None: ...

    def on_again(self, worker: int, job: Job, reason: str) -> None:
        """It failed for us, and will be tried once more, alone."""
        ...

    def on_left(self, worker: int, job: Job) -> None:
        """It was left at the end of a step; the bench can go on with it."""
        ...

    def on_ending(self) -> None:
        """What is being done comes to the end of its step; nothing else is begun."""
        ...

    def on_beat(self) -> None:
        """Some time has passed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """When to end. `is_stopped` is asked again and again: whether somebody wants the end now."""

    deadline_s: float | None = None  # on the clock
    is_stopped: Callable[[], bool] = lambda: False
    clock: Callable[[], float] = time.monotonic
    grace_s: float = GRACE_S
    beat_s: float = BEAT_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How far it came."""

    num_done: int  # here
    num_left: int
    is_interrupted: bool = False  # by somebody
    is_out_of_time: bool = False


class Schedule:
    """Hands out jobs until all are done, or it is time to end."""

    def __init__(
        self, jobs: Sequence[Job], folder: Folder, crew: Crew, watcher: Watcher, pace: Pace | None = None
    ) -> None:
        self._waiting = deque(jobs)
        self._again: deque[Job] = deque()  # with nobody beside: what they took of the machine is free then
        self._folder = folder
        self._crew = crew
        self._watcher = watcher
        self._pace = pace or Pace()
        self._num_done = 0

    def run(self) -> Ending:
        """Raises:
        UsageError, EnvironmentMissing: nothing could be done, since something is named wrongly or missing.
        InfraError: the folder cannot be written any more.
        """
        is_interrupted = is_out_of_time = False
        while self._waiting or self._again or self._crew.busy:
            is_interrupted, is_out_of_time = self._pace.is_stopped(), self._is_out_of_time()
            if is_interrupted or is_out_of_time:
                self._end()
                break
            self._hand_out()
            self._hear(self._pace.beat_s)
            self._kill_stuck()
            self._watcher.on_beat()
        return Ending(
            num_done=self._num_done,
            num_left=len(self._waiting) + len(self._again),
            is_interrupted=is_interrupted,
            is_out_of_time=is_out_of_time and not is_interrupted,
        )

    def _is_out_of_time(self) -> bool:
        return self._pace.deadline_s is not None and self._pace.clock() >= self._pace.deadline_s

    def _hand_out(self) -> None:
        while self._waiting and (found := self._fitting()) is not None:
            worker, job = found
            self._waiting.remove(job)
            self._give(worker, job)
        if self._again and not self._waiting and not self._crew.busy:
            for worker in self._crew.idle()[:1]:
                self._give(worker, self._again.popleft())

    def _fitting(self) -> tuple[Worker, Job] | None:
        """The first job for whose memory there is room beside what is being done, and who may do it.

        A large one is not waited for: it is done once nothing else is left, or happens to be alone.
        """
        idle = self._crew.idle()
        pairs = ((worker, job) for job in self._waiting for worker in idle)
        return next((pair for pair in pairs if self._crew.has_room(*pair)), None)

    def _give(self, worker: Worker, job: Job) -> None:
        self._crew.give(worker, job)
        self._watcher.on_begun(worker.number, job)

    def _hear(self, limit_s: float) -> None:
        heard = self._crew.hear(limit_s)
        if heard is None or heard.worker.job is None:
            return
        worker, job, said = heard.worker, heard.worker.job, heard.said
        if isinstance(said, Doing):
            self._watcher.on_doing(worker.number, said.what)
            return
        worker.job = None
        match said:
            case Done(record=record):
                self._done(worker, job, record)
            case Failed():
                self._check_lasting(said)
                self._failed(worker, job, said.reason)
            case Interrupted():
                self._left(worker, job)
            case Ended(code=code):
                self._failed(worker, job, f"its worker process ended with {_code_text(code)}")

    def _done(self, worker: Worker, job: Job, record: TaskRecord) -> None:
        is_doubtful = record.fate is Fate.REFUSED and self._crew.size > 1 and job.num_tries < MAX_TRIES
        if is_doubtful and not record.is_degenerate:  # perhaps others had taken the memory that it needs
            self._try_again(worker, job, record.reason)
            return
        self._folder.keep(record)
        self._num_done += 1
        self._watcher.on_done(worker.number, record)

    def _failed(self, worker: Worker, job: Job, reason: str) -> None:
        if job.num_tries < MAX_TRIES:
            self._try_again(worker, job, reason)
            return
        record = ours(job, reason)
        self._folder.keep(record)
        self._num_done += 1
        self._watcher.on_done(worker.number, record)

    def _try_again(self, worker: Worker, job: Job, reason: str) -> None:
        if OUT_OF_MEMORY in reason.lower():
            job = with_fewest_inputs(job)
        self._again.append(replace(job, num_tries=job.num_tries + 1, is_anew=True))
        self._watcher.on_again(worker.number, job, reason)

    def _left(self, worker: Worker, job: Job) -> None:
        self._waiting.append(job)
        self._watcher.on_left(worker.number, job)

    def _check_lasting(self, failed: Failed) -> None:
        """What is wrong for all tasks is told at once; what befalls one later is that one's."""
        if failed.is_lasting and self._num_done == 0:
            raise (UsageError if failed.is_usage else EnvironmentMissing)(failed.reason)

    def _kill_stuck(self) -> None:
        for worker in self._crew.busy:
            assert worker.job is not None
            budget_s = worker.job.spec.budget.max_wall_s
            limit_s = None if budget_s is None else budget_s + worker.job.audit_s + OVERTIME_S
            if limit_s is not None and self._crew.clock() - worker.since_s > limit_s:
                worker.process.kill()

    def _end(self) -> None:
        """What is being done gets a while to come to the end of its step; the rest is for another time."""
        self._watcher.on_ending()
        self._crew.interrupt()
        end_s = self._pace.clock() + self._pace.grace_s
        was_stopped = self._pace.is_stopped()
        while self._crew.busy and self._pace.clock() < end_s:
            self._hear(self._pace.beat_s)
            self._watcher.on_beat()
            if self._pace.is_stopped() and not was_stopped:
                break
        for worker in self._crew.busy:
            assert worker.job is not None
            worker.process.kill()
            self._left(worker, worker.job)
            worker.job = None


def with_fewest_inputs(job: Job) -> Job:
    """The job on as few input sets as a verdict may rest on: it takes more memory than its text told."""
    judge = job.spec.judge
    fewer = replace(judge, num_inputs=min(judge.num_inputs, FEWEST_INPUTS))
    return replace(job, spec=replace(job.spec, judge=fewer))


def _code_text(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
