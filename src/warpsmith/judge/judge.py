"""The judge: opens a task once, then says of candidates whether they replace it, and how fast."""

import secrets
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self

import warpsmith
from warpsmith.core import Candidate, InfraError, Passed, Task, TaskError, Verdict
from warpsmith.device.base import Device
from warpsmith.device.lease import Meter, lease
from warpsmith.judge import controls, gates
from warpsmith.judge.clock.appeal import twice_refused
from warpsmith.judge.clock.baselines import driver_version
from warpsmith.judge.config import JudgeConfig
from warpsmith.judge.gates import Gate, rules, sanitizer, shapes, symbols
from warpsmith.judge.guests import Guests
from warpsmith.judge.oracle_client import OracleClient
from warpsmith.judge.profile import Profile, profile_of
from warpsmith.judge.programs import Programs
from warpsmith.judge.protocol import Open, Ready, Regime
from warpsmith.judge.scratch import Scratch
from warpsmith.judge.trial import Failure, OpenTask, Trial
from warpsmith.sandbox import Sandbox
from warpsmith.toolchain import Build, Toolchain

SEED_BITS = 48


class Judge:
    """One task's judge. Use it as a context manager: what it starts ends with it.

    The reference runs in a process of its own (the oracle), which lives as long as the judge; each candidate
    in another (a guest), in the sandbox, which lives for one verdict.
    """

    def __init__(
        self,
        task: Task,
        *,
        device: Device,
        sandbox: Sandbox,
        toolchain: Toolchain,
        config: JudgeConfig | None = None,
    ) -> None:
        self.task = task
        self.device = device
        self.config = config or JudgeConfig()
        self._sandbox = sandbox
        self._toolchain = toolchain
        self._resources = ExitStack()
        self._guests: Guests
        self._subject: OpenTask
        self._versions: Ready
        self._exchange = "files"
        self._leases = Meter()

    def __enter__(self) -> Self:
        """Run the reference.

        Raises:
            TaskError: the task cannot be judged; the message says why and what to change.
            InfraError: this machine cannot do it, or the judge is blind on this task; EnvironmentMissing if
                something has to be installed.
        """
        with ExitStack() as stack:
            scratch = Scratch(self.config.scratch)
            stack.callback(scratch.close)
            programs = Programs(self._sandbox, self.device, self.config, scratch)
            oracle = programs.oracle()
            stack.callback(oracle.close)
            self._guests = Guests(programs, keep_spare=self.config.keep_spare)
            stack.callback(self._guests.close)
            self._versions = oracle.greet(limit_s=self.config.limits.start_s)
            self._subject = self._with_guest(self._opened(oracle, programs))
            self.check_controls()
            self._resources = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._resources.close()

    @property
    def held_s(self) -> float:
        """For how many seconds it has held the GPU in all."""
        return self._leases.held_s

    def build(self, candidate: Candidate) -> Build | Failure:
        """The candidate, compiled, or why it is not. Needs no running reference."""
        built = rules.breach(candidate) or self._toolchain.build(candidate)
        if not isinstance(built, Build):
            return built
        return symbols.breach(built, candidate.form, self.device.kind) or built

    def verify(self, candidate: Candidate) -> Verdict:
        """Whether the candidate computes what the reference does. `Passed` comes without timing."""
        return self._judged(candidate)

    def measure(self, candidate: Candidate) -> Verdict:
        """The same, and how fast it is. On a GPU it waits until nobody else uses that GPU for this."""
        look = partial(self._judged, candidate, gates.SPEED)
        return twice_refused(look) if self.device.kind == "cuda" else look()

    def watch(self, candidate: Candidate, look: Callable[[Trial], None]) -> Verdict:
        """As `measure`, once; what has passed is then shown to `look`, while nobody else has the GPU.

        It is no gate: it refuses nothing.
        """
        return self._judged(candidate, gates.SPEED, look)

    def profile(self) -> Profile:
        """What is known of the reference before any candidate is judged."""
        return profile_of(self._subject, self.device.gpu)

    def check_controls(self) -> tuple[controls.Controlled, ...]:
        """Answers whose verdict is known, judged. Raises InfraError if the judge is blind on this task."""
        return controls.check(self._subject, self.config)

    def environment(self) -> dict[str, str]:
        """What a verdict depends on beside task and candidate, for the record."""
        return {
            "warpsmith": warpsmith.__version__,
            "python": self._versions.python,
            "torch": self._versions.torch,
            "device": self.device.kind,
            "device_name": self.device.name,
            "gpu": self.device.gpu.name,
            "gpu_uuid": self.device.uuid or "",
            "driver": driver_version() if self.device.kind == "cuda" else "",
            "arch": self.device.arch,
            "sandbox": self._sandbox.name,
            "judge_config": self.config.digest,
            "exchange": self._exchange if self._subject.facts.loan is None else "CUDA IPC",
            **self._subject.facts.environment,
        }

    def _judged(
        self,
        candidate: Candidate,
        then: tuple[Gate, ...] = (),
        look: Callable[[Trial], None] = lambda _: None,
    ) -> Verdict:
        with self._guests.lend() as guest:
            trial = Trial(
                candidate=candidate,
                subject=self._subject,
                device=self.device,
                toolchain=self._toolchain,
                config=self.config,
                guest=guest,
            )
            failure = gates.first_failure(gates.BUILD, trial)
            if failure is None:
                with lease(self.device, is_exclusive=False, leases=self._leases):
                    failure = gates.first_failure(gates.CORRECTNESS, trial)
                    if failure is None and then:
                        failure = gates.first_failure(gates.PREPARATION, trial)
            if failure is None and then:
                with lease(self.device, is_exclusive=True, leases=self._leases):
                    failure = gates.first_failure(then, trial)
                    if failure is None:
                        look(trial)
            if failure is None and self.config.sanitizes:
                with lease(self.device, is_exclusive=False, leases=self._leases):
                    failure = sanitizer.check(trial)
            if failure is None:
                shapes.check(trial)
        return failure or _passed(trial)

    def _opened(self, oracle: OracleClient, programs: Programs) -> OpenTask:
        source = programs.oracle_home / "reference.py"
        try:
            source.write_text(self.task.source)
        except OSError as error:
            raise InfraError(f"cannot write {source}: {error.strerror or error}") from error
        request = Open(
            source=source,
            folder=programs.shared,
            device=self.device.kind,
            seed=secrets.randbits(SEED_BITS),
            num_inputs=self.config.num_inputs,
            tolerance=self.task.tolerance,
            regime=Regime.of(self.task),
            lend_bytes=int(self.config.lend_share * self.device.memory_bytes),
        )
        try:
            with lease(self.device, is_exclusive=False, leases=self._leases):
                facts = oracle.open(request, limit_s=self.config.limits.open_s)
        except TaskError as error:
            raise TaskError(f"{self.task.task_id}: {error}") from error
        return OpenTask(
            task=self.task,
            facts=facts,
            oracle=oracle,
            folder=programs.shared,
            num_inputs=self.config.num_inputs,
        )

    def _with_guest(self, subject: OpenTask) -> OpenTask:
        """The task as it can be shared with a guest: by files, if CUDA's IPC fails in the sandbox."""
        if subject.facts.loan is None:
            return subject
        start_s, flush_bytes = self.config.limits.start_s, self.config.clock.flush_bytes(self.device.gpu)
        with self._guests.lend() as guest:
            guest.greet(limit_s=start_s)
            why_not = guest.prepare(subject.facts.loan, flush_bytes=flush_bytes, limit_s=start_s)
        if why_not is None:
            return subject
        self._exchange = f"files ({why_not})"
        return replace(subject, facts=replace(subject.facts, loan=None))


def _passed(trial: Trial) -> Passed:
    assert trial.accuracy is not None
    assert trial.build is not None
    return Passed(
        accuracy=trial.accuracy,
        resources=trial.build.resources,
        timing=trial.timing,
        precision=trial.precision,
        off_shapes=trial.off_shapes,
        gates=tuple(trial.gates),
        coverage=trial.coverage,
        sanitized=trial.sanitized,
        advice=tuple(trial.advice),
    )
