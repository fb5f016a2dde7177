"""Attempts that run at the same time, a thread each, and what becomes of the run's own folder meanwhile."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock, Thread

from warpsmith.agent.attempts.nouns import ATTEMPTS, LIST, Attempt, Attempts, Audience, Maker, listed, told
from warpsmith.agent.attempts.pool import GRACE_S, JudgePool, Seat
from warpsmith.agent.attempts.sharing import Purse
from warpsmith.agent.episode import rank
from warpsmith.agent.events import Aborted, Busy, Event, Finished, Improved, Judged, Started
from warpsmith.agent.interrupt import Interrupt
from warpsmith.agent.optimize import OptimizeConfig, Shared, episode
from warpsmith.agent.runs.log import writing
from warpsmith.agent.runs.record import Record
from warpsmith.core import (
    Candidate,
    Cost,
    EnvironmentMissing,
    InfraError,
    Passed,
    Solution,
    StopReason,
    Trajectory,
    UsageError,
    Verdict,
)
from warpsmith.core.codec import to_json
from warpsmith.policy import Policy

FINAL_TRIES = 3
ABANDONED = "it did not stop in time; `warpsmith runs resume` goes on with its folder"


@dataclass(slots=True, kw_only=True)
class Runner:
    """One attempt, and the thread that it runs in."""

    number: int
    policy: Policy
    maker: Maker
    folder: Path
    thread: Thread | None = None
    trajectory: Trajectory | None = None
    error: BaseException | None = None
    best: Solution | None = None  # so far
    reason: str = ""

    def attempt(self, cost: Cost) -> Attempt:
        """As it stands; `cost` is what it has told of."""
        ended = self.trajectory
        return Attempt(
            number=self.number,
            folder=self.folder,
            policy=self.policy.name,
            stop=None if ended is None else ended.stop,
            reason=self.reason,
            best=self.best if ended is None else ended.best,
            cost=cost if ended is None else ended.cost,
            num_turns=0 if ended is None else len(ended.turns),
        )


class Race:
    """All attempts at once, and what becomes of the run's own folder meanwhile."""

    def __init__(
        self,
        runners: Sequence[Runner],
        config: OptimizeConfig,
        pool: JudgePool,
        record: Record,
        audience: Audience,
    ) -> None:
        self._runners = runners
        self._config = config
        self._pool = pool
        self._record = record
        self._audience = audience
        self._purse = Purse(config.budget)
        self._lock = RLock()  # a signal's handler tells something too, perhaps amid another's telling
        self._best: Solution | None = None
        self._is_stopped = False
        self._is_over = False
        self._interrupt = Interrupt(
            lambda: self._tell(Busy(what="finishing each attempt's step; Ctrl-C again stops at once"))
        )

    def run(self) -> Attempts:
        self._tell(self._started())
        try:
            try:
                with self._interrupt:
                    self._run_all()
                    best, final = self._measured_again()
            except KeyboardInterrupt:
                self._stop_at_once()
                best, final = next(iter(self._ranked()), None), Cost()
            self._check_failed()
        except (InfraError, UsageError) as error:
            self._tell(Aborted(reason=str(error)))
            raise
        finally:
            with self._lock:
                self._is_over = True
        return self._finished(best, final)

    def hear(self, runner: Runner, event: Event) -> None:
        """From the attempt's own thread. Raises KeyboardInterrupt there once all is to stop at once."""
        if self._is_stopped and not isinstance(event, Finished | Aborted):
            raise KeyboardInterrupt
        with self._lock:
            if self._is_over:
                return
            self._audience.on_attempt(runner.number, event)
            match event:
                case Improved(solution=solution):
                    runner.best = solution
                    if self._best is None or rank(solution) < rank(self._best):
                        self._best = solution
                        self._tell(event)
                case Finished(reason=reason):
                    runner.reason = reason
                case _:
                    pass

    def _run_all(self) -> None:
        for runner in self._runners:
            runner.thread = Thread(target=self._run_one, args=(runner,), daemon=True)
            runner.thread.start()
        for runner in self._runners:
            if runner.thread is not None:
                runner.thread.join()

    def _run_one(self, runner: Runner) -> None:
        maker, bench = runner.maker, replace(self._pool.bench, judge=self._pool.seat())
        config = replace(self._config, policy=maker.policy, policy_config=maker.policy_config)
        shared = Shared(interrupt=self._interrupt, budget=self._purse.share(runner.number))
        try:
            with Record.create(runner.folder, bench.task) as record:
                ear = Ear(self, runner)
                runner.trajectory = episode(runner.policy, bench, config, record, ear, shared)
        except BaseException as error:  # noqa: BLE001 - it is told, or raised, where all are joined
            runner.error, runner.reason = error, str(error) or type(error).__name__
        self._ended(runner)

    def _ended(self, runner: Runner) -> None:
        with self._lock:
            spent = self._purse.spent(runner.number) if runner.trajectory is None else runner.trajectory.cost
            self._purse.spend(runner.number, spent)
            if self._is_over:
                return
            try:
                self._write_list()
            except InfraError as error:
                runner.error, runner.reason = error, str(error)

    def _stop_at_once(self) -> None:
        """Whoever waits for a judge, or tells something, hears of it; who is amid a request stays behind."""
        self._is_stopped = True
        self._pool.stop()
        end_s = time.monotonic() + GRACE_S
        for runner in self._runners:
            if runner.thread is not None:
                runner.thread.join(max(0.0, end_s - time.monotonic()))
            if runner.trajectory is None and runner.error is None:
                runner.reason = ABANDONED

    def _check_failed(self) -> None:
        """Raises what is no attempt's own failure; InfraError, or what is common to all, if all failed."""
        errors = [runner.error for runner in self._runners if runner.error is not None]
        for error in errors:
            if not isinstance(error, InfraError | UsageError | KeyboardInterrupt):
                raise error
        attempts = self._attempts()
        if self._interrupt.is_requested or not all(attempt.has_failed for attempt in attempts):
            return
        text = "; ".join(f"{attempt.number}: {attempt.reason}" for attempt in attempts)
        for kind in (UsageError, EnvironmentMissing):
            if len(errors) == len(attempts) and all(isinstance(error, kind) for error in errors):
                raise kind(f"all attempts failed: {text}")
        raise InfraError(f"all attempts failed: {text}")

    def _ranked(self) -> list[Solution]:
        """The attempts' best programs that passed, each once, the fastest first."""
        found = [attempt.best for attempt in self._attempts() if attempt.best is not None]
        passed = [solution for solution in found if isinstance(solution.verdict, Passed)]
        return list({solution.candidate.digest: solution for solution in sorted(passed, key=rank)}.values())

    def _measured_again(self) -> tuple[Solution | None, Cost]:
        """The fastest that passes once more: of several measurements the luckiest came first.

        Where only one attempt has a program, that is done.
        """
        ranked, seat, total = self._ranked(), self._pool.seat(), Cost()
        if len(ranked) < 2:
            return next(iter(ranked), None), total
        for solution in ranked[:FINAL_TRIES]:
            self._tell(Busy(what="final measurement"))
            begun_s, held_s = time.monotonic(), seat.held_s
            verdict = _measured(seat, solution.candidate)
            cost = Cost(wall_s=time.monotonic() - begun_s, gpu_s=seat.held_s - held_s)
            total += cost
            again = Solution(candidate=solution.candidate, verdict=verdict)
            self._tell(_judged(again, cost))
            if isinstance(verdict, Passed):
                return again, total
        return again, total

    def _finished(self, best: Solution | None, final: Cost) -> Attempts:
        attempts = self._attempts()
        digest = None if best is None else best.candidate.digest
        won = next((a for a in attempts if a.best is not None and a.best.candidate.digest == digest), None)
        stop = StopReason.INTERRUPTED if self._interrupt.is_requested else (won or attempts[0]).stop
        cost = replace(self._purse.total + final, wall_s=self._purse.elapsed_s)
        turns = self._runners[won.number - 1].trajectory if won is not None else None
        trajectory = Trajectory(
            task_id=self._record.task.task_id,
            turns=() if turns is None else turns.turns,
            best=best,
            stop=stop or StopReason.POLICY,
            cost=cost,
        )
        self._tell(
            Finished(
                stop=trajectory.stop,
                cost=cost,
                num_turns=sum(attempt.num_turns for attempt in attempts),
                best=best,
                reason=told(attempts, None if won is None else won.number),
            )
        )
        self._write_list(None if won is None else won.number)
        return Attempts(
            folder=self._record.folder,
            trajectory=trajectory,
            environment=self._pool.bench.environment | {"policy": self._names()},
            attempts=attempts,
            winner=None if won is None else won.number,
        )

    def _attempts(self) -> tuple[Attempt, ...]:
        return tuple(runner.attempt(self._purse.spent(runner.number)) for runner in self._runners)

    def _started(self) -> Started:
        bench, task = self._pool.bench, self._record.task
        attempts = [f"{ATTEMPTS}/{runner.number}" for runner in self._runners]
        return Started(
            task_id=task.task_id,
            task_digest=task.digest,
            provenance=task.provenance,
            scale=task.scale,
            policy=self._names(),
            device=bench.device.name,
            environment=bench.environment | {"policy": self._names()},
            config={"attempts": attempts},
        )

    def _names(self) -> str:
        names = [runner.policy.name for runner in self._runners]
        return ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))

    def _tell(self, event: Event) -> None:
        with self._lock:
            self._record.on_event(event)
            self._audience.on_event(event)

    def _write_list(self, winner: int | None = None) -> None:
        """A file for programs; the log has the same in words."""
        path = self._record.folder / LIST
        with writing(path):
            fresh = path.with_name(f".{LIST}.fresh")
            fresh.write_text(to_json(listed(self._attempts(), winner), indent=2) + "\n", encoding="utf-8")
            fresh.replace(path)


@dataclass(frozen=True, slots=True)
class Ear:
    """Listens to one attempt."""

    race: Race
    runner: Runner

    def on_event(self, event: Event) -> None:
        self.race.hear(self.runner, event)


def _judged(solution: Solution, cost: Cost) -> Judged:
    has_passed = isinstance(solution.verdict, Passed)
    return Judged(
        tool="final",
        digest=solution.candidate.digest,
        verdict=solution.verdict,
        candidate=solution.candidate if has_passed else None,
        cost=cost,
    )


def _measured(seat: Seat, candidate: Candidate) -> Verdict:
    """A failure of ours may pass; what this machine lacks will not come by itself."""
    try:
        return seat.measure(candidate)
    except EnvironmentMissing:
        raise
    except InfraError:
        return seat.measure(candidate)
