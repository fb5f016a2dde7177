"""One task of a bench, from its audit to its record: by the same loop and judge as `warpsmith optimize`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from warpsmith.agent import Busy, Event, Judged, Said, in_effect, read_events
from warpsmith.agent.optimize import DeviceChoice, OptimizeConfig, episode, open_bench
from warpsmith.agent.runs.record import Record
from warpsmith.agent.runs.resume import Means, OpenBench, resume
from warpsmith.bench.folder import read_audit
from warpsmith.bench.protocol import Job
from warpsmith.bench.reading import last_verdict, told
from warpsmith.bench.record import Fate, TaskRecord, Told
from warpsmith.bench.suite import Mode
from warpsmith.core import (
    BuildFailed,
    Crashed,
    EnvironmentMissing,
    InfraError,
    Passed,
    StopReason,
    TaskError,
    UsageError,
    Verdict,
)
from warpsmith.core.audit import TaskAudit, Unaudited
from warpsmith.core.codec import to_json
from warpsmith.device import Device, select_device
from warpsmith.judge.audit import Auditor
from warpsmith.policy import Policy, PolicyConfig, make_policy
from warpsmith.report.plain import last_lines, one_line
from warpsmith.report.runs import Run, is_run, read_run
from warpsmith.report.verdicts import evidence_text, verdict_text
from warpsmith.sandbox import pick
from warpsmith.tasks.store.files import replacing

TO_GO_ON = (StopReason.INTERRUPTED, StopReason.POLICY)
LOG_LINES, LOG_WIDTH = 40, 300  # of a verdict's log, in a record

Tell = Callable[[str], None]


class Stopped(Exception):
    """The task was left on request."""


def audited(job: Job, device: Device) -> TaskAudit | Unaudited:
    """What is wrong with the task, or why that cannot be told: it is worked on all the same.

    Raises EnvironmentMissing.
    """
    spec = job.spec
    auditor = Auditor(device=device, sandbox=pick(spec.sandbox), config=spec.judge, budget_s=job.audit_s)
    try:
        return auditor.audit(spec.task)
    except EnvironmentMissing:
        raise
    except (TaskError, InfraError) as error:
        return Unaudited(task_id=spec.task.task_id, reason=one_line(str(error), 400))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """What the work is done with."""

    audit: Callable[[Job, Device], TaskAudit | Unaudited] = audited
    bench: OpenBench = open_bench
    policy: Callable[[str, PolicyConfig], Policy] = make_policy


def work(job: Job, tell: Tell, hands: Hands | None = None) -> TaskRecord:
    """Raises:
    Stopped, KeyboardInterrupt: it was asked to stop; the run can go on.
    InfraError, EnvironmentMissing, UsageError: as `optimize`; a task that cannot be judged has a record.
    """
    hands = hands or Hands()
    device = select_device(job.spec.device, job.spec.arch, job.spec.gpu)
    if device.name != job.device:
        raise UsageError(f"this bench is on {job.device}, and this is {device.name}; take another folder")
    audit = _audit(job, device, tell, hands) if job.audit_s > 0 else None
    try:
        _run(job, device, tell, hands)
    except TaskError as error:
        return _blank(job, Fate.REFUSED, one_line(str(error), 400), audit)
    return record_of(job, audit)


def ours(job: Job, reason: str) -> TaskRecord:
    """The record of a task that we failed on."""
    audit = read_audit(job.audit, TaskAudit)
    kept = audit if audit is not None and audit.digest == job.name.digest else None
    return _blank(job, Fate.OURS, one_line(reason, 400), kept)


def record_of(job: Job, audit: TaskAudit | Unaudited | None) -> TaskRecord:
    """What the folder of a run that has ended tells. Raises InfraError if it cannot be read."""
    run = read_run(job.folder)
    if not isinstance(run, Run) or run.outcome is None or not run.outcome.is_final:
        why = "it has not ended" if isinstance(run, Run) else run.reason
        raise InfraError(f"{job.folder} should hold a finished run: {why}")
    outcome, events = run.outcome, in_effect(read_events(job.folder))
    messages = [event.message for event in events if isinstance(event, Said)]
    verdict = outcome.verdict if outcome.verdict is not None else last_verdict(messages)
    said = told(messages)
    return replace(
        _blank(job, Fate.JUDGED, _why(verdict, said), audit),
        verdict=None if verdict is None else _short(verdict),
        candidate_digest=outcome.candidate_digest,
        stop=outcome.stop,
        num_turns=outcome.num_turns,
        told=said,
        cost=outcome.cost,
        environment={**outcome.environment, "input sets": str(job.spec.judge.num_inputs)},
    )


def _audit(job: Job, device: Device, tell: Tell, hands: Hands) -> TaskAudit | Unaudited:
    kept = read_audit(job.audit, TaskAudit)
    if kept is not None and kept.digest == job.name.digest:
        return kept
    tell("audit of the task")
    found = hands.audit(job, device)
    if isinstance(found, TaskAudit):
        with replacing(job.audit) as new:
            new.write_text(to_json(found, indent=1) + "\n", encoding="utf-8")
    return found


def _run(job: Job, device: Device, tell: Tell, hands: Hands) -> None:
    """Leaves a finished run in the job's folder. Raises as `work`."""
    spec, ear = job.spec, Ear(tell)
    is_known = _prepared(job)
    if is_known and _is_over(job.folder):
        return
    policy = hands.policy(spec.policy, spec.policy_config)
    means = Means(policy=policy, bench=hands.bench)
    stop = _resumed(job, ear, means) if is_known else _begun(job, device, policy, ear, hands.bench)
    if stop is StopReason.INTERRUPTED:
        raise Stopped
    run = read_run(job.folder)
    if stop is StopReason.POLICY and isinstance(run, Run) and run.verdict is None:
        raise InfraError(f"the policy could not be asked: {_reason_of_policy(job.folder)}")


def _resumed(job: Job, ear: "Ear", means: Means) -> StopReason:
    """Raises InfraError if there is no going on with what the folder holds: it will be begun anew."""
    try:
        return resume(job.folder, ear, means).trajectory.stop
    except TaskError:
        raise
    except UsageError as error:
        raise InfraError(str(error)) from error


def _begun(job: Job, device: Device, policy: Policy, ear: "Ear", opened: OpenBench) -> StopReason:
    spec = job.spec
    config = OptimizeConfig(
        device=device,
        sandbox=spec.sandbox,
        judge=spec.judge,
        budget=spec.budget,
        folder=job.folder,
        policy=spec.policy,
        policy_config=spec.policy_config,
        device_choice=DeviceChoice(kind=spec.device, arch=spec.arch, gpu=spec.gpu),
    )
    with Record.create(job.folder, spec.task) as record, opened(spec.task, config) as bench:
        return episode(policy, bench, config, record, ear).stop


def _prepared(job: Job) -> bool:
    """Whether the folder holds a run to go on with; what else it holds is put aside."""
    folder = job.folder
    if not folder.exists():
        return False
    is_usable = not job.is_anew and is_run(folder) and isinstance(read_run(folder), Run)
    if not is_usable and any(folder.iterdir()):
        number = 1
        while (aside := folder.with_name(f"{folder.name}.aside-{number}")).exists():
            number += 1
        folder.rename(aside)
    return is_usable


def _is_over(folder: Path) -> bool:
    run = read_run(folder)
    outcome = run.outcome if isinstance(run, Run) else None
    return outcome is not None and outcome.is_final and outcome.stop not in TO_GO_ON


def _reason_of_policy(folder: Path) -> str:
    reasons = [getattr(event, "reason", "") for event in read_events(folder)]
    return next((reason for reason in reversed(reasons) if reason), "it gave no reason")


def _blank(job: Job, fate: Fate, reason: str, audit: TaskAudit | Unaudited | None) -> TaskRecord:
    return TaskRecord(
        name=job.name,
        mode=Mode.TRAIN if job.spec.task.is_training else Mode.EVAL,
        device=job.device,
        fate=fate,
        reason=reason,
        audit=audit,
        num_tries=job.num_tries,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _why(verdict: Verdict | None, said: Told) -> str:
    """Why there is no program that passes; nothing if there is one."""
    if isinstance(verdict, Passed):
        return ""
    if verdict is None:
        return said.last_words or "nothing was judged"
    return one_line(evidence_text(verdict), 300)


def _short(verdict: Verdict) -> Verdict:
    """Without the long part of a log: the run's folder has all of it."""
    match verdict:
        case BuildFailed(log=log) | Crashed(log=log):
            return replace(verdict, log=last_lines(log, LOG_LINES, LOG_WIDTH))
        case _:
            return verdict


class Ear:
    """Listens to an episode, and passes on what is worth a line."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def on_event(self, event: Event) -> None:
        match event:
            case Busy(what=what):
                self._tell(what)
            case Judged(tool=tool, verdict=verdict):
                self._tell(f"{tool}: {verdict_text(verdict)}")
            case _:
                pass
