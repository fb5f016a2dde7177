"""One task's visit, from the host's side: a helper process of its own, a question a stage."""

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from warpsmith.core import Completed, Ending, Guest, InfraError, Task, TaskError, UsageError
from warpsmith.judge.config import ClockConfig
from warpsmith.judge.exchange import exchange, fresh_nonce, last_line, start_failure
from warpsmith.judge.protocol import Regime
from warpsmith.tasks.file import check_format
from warpsmith.tasks.synth.filters.config import Band, FilterConfig
from warpsmith.tasks.synth.filters.desk import Desk
from warpsmith.tasks.synth.filters.outcome import (
    Facts,
    Kept,
    Outcome,
    Reason,
    Rejected,
    Stage,
    Undecided,
    digest_of,
)
from warpsmith.tasks.synth.filters.program import helper_command
from warpsmith.tasks.synth.filters.protocol import (
    Agree,
    Agreed,
    Answer,
    Call,
    Clock,
    Clocked,
    Compile,
    Failed,
    Fine,
    Greet,
    Greeted,
    Inspect,
    Inspected,
    Look,
    Question,
    Ran,
    Refused,
    Repeat,
    Reply,
    Run,
    Tell,
    Told,
)

SURELY = 4.0  # times slower than the band by the model, which no GPU outruns: not worth compiling


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """An outcome, and whether it might be otherwise if nothing else ran: then it is worth a second look."""

    outcome: Outcome
    is_doubtful: bool = False


class _No(Exception):
    """The task is refused. Caught in `Visit.seen`."""

    def __init__(self, stage: Stage, reason: Reason, evidence: str, *, is_doubtful: bool = False) -> None:
        super().__init__(evidence)
        self.stage = stage
        self.reason = reason
        self.evidence = evidence
        self.is_doubtful = is_doubtful


class _Ours(Exception):
    """We failed. Caught in `Visit.seen`."""


class Visit:
    """All checks of one task. `folder` is its own, and empty."""

    def __init__(self, task: Task, config: FilterConfig, desk: Desk, folder: Path) -> None:
        self._task = task
        self._config = config
        self._checks = config.checks
        self._desk = desk
        self._folder = folder
        self._facts = Facts()
        self._look_bytes = 0

    def seen(self) -> Seen:
        task = self._task
        try:
            self._read()
            self._look()
        except _No as no:
            outcome = Rejected(
                task_id=task.task_id,
                digest=digest_of(task),
                stage=no.stage,
                reason=no.reason,
                evidence=no.evidence[:1000],
                facts=self._facts,
            )
            return Seen(outcome=outcome, is_doubtful=no.is_doubtful)
        except (_Ours, InfraError) as error:
            undecided = Undecided(task_id=task.task_id, digest=digest_of(task), why=str(error)[:1000])
            return Seen(outcome=undecided, is_doubtful=True)
        return Seen(outcome=Kept(task_id=task.task_id, digest=digest_of(task), facts=self._facts))

    def _read(self) -> None:
        try:
            check_format(self._task.source, self._task.task_id)
        except TaskError as error:
            raise _No(Stage.READ, Reason.INCOMPLETE, str(error)) from error
        except UsageError as error:
            raise _No(Stage.READ, Reason.NOT_PYTHON, str(error)) from error

    def _look(self) -> None:
        share = self._desk.halls.enter()
        try:
            guest = self._config.sandbox.start(helper_command(self._config, self._folder))
            try:
                self._greet(guest)
                for stage in STAGES:
                    if stage.name is Stage.LOOK:
                        share = self._desk.halls.look(share, self._look_bytes)
                    self._do(stage, guest)
            finally:
                ended = guest.close()
        finally:
            share.give_back()
        num_said = len(ended.stdout.encode()) + len(ended.stderr.encode())
        if num_said > self._checks.most_said_bytes:
            raise _No(
                Stage.RUN,
                Reason.FLOODS,
                f"it prints more than {self._checks.most_said_bytes} bytes: {ended.stdout[:100]!r}",
            )

    def _greet(self, guest: Guest) -> None:
        answer = _asked(guest, Greet(), self._checks.limits.start_s)
        if isinstance(answer, Completed):
            raise start_failure(answer, "filter's helper")
        if not isinstance(answer, Greeted):
            raise _Ours(f"the filter's helper does not greet: {answer}")

    def _do(self, stage: "StageOf", guest: Guest) -> None:
        if stage.name is Stage.TIME and self._config.device.kind == "cpu":
            return  # it was modelled when it ran
        with stage.turn(self._desk):
            started = time.monotonic()
            reply = _asked(guest, stage.question(self), stage.limit_s(self))
            took_s = round(time.monotonic() - started, 4)
        self._facts = replace(self._facts, stage_s=self._facts.stage_s | {stage.name.value: took_s})
        match reply:
            case Completed():
                raise self._ended(stage, reply)
            case None:
                raise _No(stage.name, Reason.CRASHES, "it wrote into the pipe of its helper's answers")
            case Refused(reason=reason, evidence=evidence):
                # Others may have taken the memory, or the GPU may be broken.
                is_crowded = reason is Reason.TOO_LARGE or "CUDA" in evidence
                is_doubtful = is_crowded and self._config.device.kind == "cuda"
                raise _No(stage.name, reason, evidence, is_doubtful=is_doubtful)
            case Failed(why=why):
                raise _No(stage.name, Reason.UNEXAMINABLE, why, is_doubtful=True)
            case _:
                self._take(reply)

    def _take(self, reply: Reply) -> None:
        """Keep what it tells, and hold it against the checks."""
        match reply:
            case Ran():
                self._take_run(reply)
            case Told(times_allowed=times):
                self._facts = replace(self._facts, told_apart=times)
            case Inspected(findings=findings, skipped=skipped):
                self._facts = replace(self._facts, findings=findings, skipped=skipped)
            case Agreed(error=error, allowed=allowed, num_graph_breaks=num_breaks):
                self._facts = replace(
                    self._facts, compile_error=error, error_allowed=allowed, num_graph_breaks=num_breaks
                )
            case Clocked(samples_us=samples_us):
                eager_us = median(samples_us)
                self._facts = replace(self._facts, eager_us=eager_us, is_time_modelled=False)
                self._check_time(Stage.TIME, eager_us, "measured with a cold cache", self._checks.band)
            case Fine():
                pass
            case _:
                raise _Ours(f"the filter's helper answers with {type(reply).__name__}")

    def _take_run(self, ran: Ran) -> None:
        self._facts = replace(
            self._facts,
            eager_us=ran.modelled_us,
            memory_bytes=ran.memory_bytes,
            is_memory_modelled=ran.is_memory_modelled,
            inputs=ran.inputs,
            outputs=ran.outputs,
            num_launches=ran.num_launches,
        )
        self._look_bytes = ran.look_bytes
        most = self._checks.memory_bytes
        if ran.memory_bytes > most:
            how = "touches, nothing freed," if ran.is_memory_modelled else "takes"
            raise _No(
                Stage.RUN,
                Reason.TOO_LARGE,
                f"one call {how} {ran.memory_bytes / 2**20:.1f} MiB of {most / 2**20:.1f} MiB",
            )
        band = self._checks.band
        if self._config.device.kind == "cuda":  # it is measured later
            band = Band(least_us=0.0, most_us=SURELY * band.most_us)
        self._check_time(Stage.RUN, ran.modelled_us, f"modelled for {self._config.device.gpu.name}", band)

    def _check_time(self, stage: Stage, eager_us: float, how: str, band: Band) -> None:
        if not band.least_us <= eager_us <= band.most_us:
            reason = Reason.TOO_FAST if eager_us < band.least_us else Reason.TOO_SLOW
            evidence = f"{eager_us:.1f} us ({how}); the band is from {band.least_us:g} to {band.most_us:g} us"
            raise _No(stage, reason, evidence)

    def _ended(self, stage: "StageOf", completed: Completed) -> _No:
        match completed.ending:
            case Ending.TIMED_OUT:
                evidence = f"stage {stage.name} was not done within {stage.limit_s(self):g} s"
                return _No(stage.name, Reason.HANGS, evidence)
            case Ending.OUT_OF_MEMORY:
                return _No(stage.name, Reason.TOO_LARGE, last_line(completed))
            case Ending.SIGNALLED | Ending.EXITED:
                evidence = f"exit code {completed.exit_code} at stage {stage.name}: {last_line(completed)}"
                # A kill may have come from a machine that was short of memory.
                is_doubtful = completed.ending is Ending.SIGNALLED
                return _No(stage.name, Reason.CRASHES, evidence, is_doubtful=is_doubtful)

    def run_question(self) -> Run:
        """Writes the source where the helper finds it. Raises InfraError."""
        source, shared = self._folder / "reference.py", self._folder / "shared"
        try:
            source.write_text(self._task.source, encoding="utf-8")
            shared.mkdir()
        except OSError as error:
            raise InfraError(f"cannot write {source}: {error.strerror or error}") from error
        return Run(
            source=source,
            folder=shared,
            device=self._config.device.kind,
            gpu=self._config.device.gpu,
            regime=Regime.of(self._task),
            tolerance=self._task.tolerance,
            checks=self._checks,
            num_threads=max(1, (os.cpu_count() or 1) // self._config.workers),
        )

    def clock_question(self) -> Clock:
        return Clock(flush_bytes=ClockConfig().flush_bytes(self._config.device.gpu))

    @property
    def config(self) -> FilterConfig:
        return self._config


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOf:
    """One stage: what is asked, how long it may take, and how the GPU is shared meanwhile."""

    name: Stage
    question: Callable[[Visit], Question]
    limit_s: Callable[[Visit], float]
    turn: Callable[[Desk], AbstractContextManager[None]] = Desk.among_others


STAGES = (
    StageOf(name=Stage.RUN, question=Visit.run_question, limit_s=lambda v: v.config.checks.limits.run_s),
    StageOf(
        name=Stage.COMPILE,
        question=lambda _: Compile(),
        limit_s=lambda v: v.config.checks.limits.compile_s,
        turn=lambda _: nullcontext(),  # nothing runs on the GPU
    ),
    StageOf(name=Stage.LOOK, question=lambda _: Look(), limit_s=lambda v: v.config.checks.limits.look_s),
    StageOf(
        name=Stage.REPEAT, question=lambda _: Repeat(), limit_s=lambda v: v.config.checks.limits.repeat_s
    ),
    StageOf(name=Stage.TELL, question=lambda _: Tell(), limit_s=lambda v: v.config.checks.limits.tell_s),
    StageOf(name=Stage.AUDIT, question=lambda _: Inspect(), limit_s=lambda v: v.config.checks.limits.audit_s),
    StageOf(name=Stage.AGREE, question=lambda _: Agree(), limit_s=lambda v: v.config.checks.limits.agree_s),
    StageOf(
        name=Stage.TIME,
        question=Visit.clock_question,
        limit_s=lambda v: v.config.checks.limits.time_s,
        turn=Desk.alone,
    ),
)


def _asked(guest: Guest, question: Question, limit_s: float) -> Reply | Completed | None:
    """Its answer, its end, or None if what it says is no answer."""
    nonce = fresh_nonce()
    answer = exchange(guest, nonce, Call(nonce=nonce, request=question), Answer, limit_s)
    return answer.answer if isinstance(answer, Answer) else answer
