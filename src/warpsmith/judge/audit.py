"""A task's audit, from the host's side: the reference is probed in the oracle, in the sandbox."""

import secrets
import time
from contextlib import ExitStack
from dataclasses import dataclass

from warpsmith.core import InfraError, Task, TaskError
from warpsmith.core.audit import TaskAudit
from warpsmith.device.base import Device
from warpsmith.device.lease import lease
from warpsmith.judge.config import JudgeConfig
from warpsmith.judge.judge import SEED_BITS
from warpsmith.judge.programs import Programs
from warpsmith.judge.protocol import Audit, Audited, Open, Regime
from warpsmith.judge.scratch import Scratch
from warpsmith.sandbox import Sandbox

PATIENCE = 4.0  # times the budget: a probe that has begun is let finish
LEAST_PATIENCE_S = 120.0
NUM_INPUTS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Auditor:
    """Audits one task after another, each in a process of its own."""

    device: Device
    sandbox: Sandbox
    config: JudgeConfig
    budget_s: float  # of probing a task; the reference's own start comes on top

    def audit(self, task: Task) -> TaskAudit:
        """All that is found within the budget.

        Raises:
            TaskError: the reference does not run; the message says why and what to change.
            InfraError: this machine cannot do it.
        """
        started = time.monotonic()
        with ExitStack() as stack:
            scratch = Scratch(self.config.scratch)
            stack.callback(scratch.close)
            programs = Programs(self.sandbox, self.device, self.config, scratch)
            oracle = programs.oracle()
            stack.callback(oracle.close)
            oracle.greet(limit_s=self.config.limits.start_s)
            request = self._request(task, programs)
            limit_s = max(PATIENCE * self.budget_s, LEAST_PATIENCE_S)
            with lease(self.device, is_exclusive=False):
                try:
                    found = oracle.audit(request, limit_s=limit_s)
                except TaskError as error:
                    raise TaskError(f"{task.task_id}: {error}") from error
        return _task_audit(task, found, time.monotonic() - started)

    def _request(self, task: Task, programs: Programs) -> Audit:
        source = programs.oracle_home / "reference.py"
        try:
            source.write_text(task.source)
        except OSError as error:
            raise InfraError(f"cannot write {source}: {error.strerror or error}") from error
        opened = Open(
            source=source,
            folder=programs.shared,
            device=self.device.kind,
            seed=secrets.randbits(SEED_BITS),
            num_inputs=NUM_INPUTS,
            tolerance=task.tolerance,
            regime=Regime.of(task),
        )
        return Audit(open=opened, budget_s=self.budget_s)


def _task_audit(task: Task, found: Audited, wall_s: float) -> TaskAudit:
    return TaskAudit(
        task_id=task.task_id,
        digest=task.digest,
        scale=task.scale,
        inputs=found.inputs,
        findings=found.findings,
        num_forwards=found.num_forwards,
        wall_s=wall_s,
        skipped=found.skipped,
    )
