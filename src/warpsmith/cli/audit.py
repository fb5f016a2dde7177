"""`warpsmith audit`: what is wrong with tasks, before anybody is judged by them."""

from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import MEANINGS, ExitCode
from warpsmith.cli.numbers import scale_of

if TYPE_CHECKING:
    from warpsmith.core.audit import TaskAudit, Unaudited
    from warpsmith.judge.audit import Auditor
    from warpsmith.tasks.caps import Cap

EXAMPLES = (
    "warpsmith audit examples/*.py",
    "warpsmith audit task.py --cap 'batch*=4' --device cpu",
    "warpsmith audit task.py --json | jq '.tasks[].findings[].kind'",
)

TasksArgument = Annotated[
    list[str],
    typer.Argument(metavar="TASK…", help="Python files with Model, get_inputs and get_init_inputs."),
]
CapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--cap",
        metavar="NAME=N",
        help="Run it smaller: integers that the file assigns at its top level, of names like NAME, are at "
        "most N. Findings hold for the sizes that were run. Repeatable.",
    ),
]
BudgetOption = Annotated[
    float,
    typer.Option(
        "--budget",
        metavar="SECONDS",
        min=1.0,
        max=86400.0,
        help="Time for probing a task, beyond its first runs.",
    ),
]


def audit(
    *,
    tasks: TasksArgument,
    cap: CapOption = None,
    budget: BudgetOption = 60.0,
    scale: options.ScaleOption = None,
    device: options.DeviceOption = "auto",
    gpu: options.GpuOption = None,
    sandbox: options.SandboxOption = "auto",
    json: options.JsonOption = False,
) -> ExitCode:
    """Look for tasks on which a verdict or a speed-up proves nothing.

    Finds outputs that zeros, a constant, another input's answer or a copied input would pass for; inputs,
    weights and operators that make no difference; hidden randomness and state; numbers that are not finite
    or not known well enough. Each finding says what was measured and how to mend it. The reference runs in
    a sandbox.

    Ends with 1 if anything beyond notes is found, and with 2 if a task could not be run.
    """
    from warpsmith.core.audit import TaskAudit
    from warpsmith.device import select_device
    from warpsmith.judge import JudgeConfig
    from warpsmith.judge.audit import Auditor
    from warpsmith.report.audit import audit_texts, audits_table
    from warpsmith.sandbox import pick
    from warpsmith.tasks.caps import Cap

    console = Console(is_json=json)
    caps = tuple(Cap.parsed(text) for text in cap or ())
    wanted_scale = scale_of(scale)
    chosen, kind = select_device(device, None, gpu), pick(sandbox)
    console.warn(kind.warning)
    auditor = Auditor(device=chosen, sandbox=kind, config=JudgeConfig(), budget_s=budget)
    audits = [_audited(console, auditor, spec, wanted_scale, caps) for spec in tasks]
    console.say(audits_table(audits))
    for found in audits:
        if isinstance(found, TaskAudit):
            console.say(*audit_texts(found))
    code = _code(audits)
    console.document(
        {
            "command": "audit",
            "exit_code": int(code),
            "meaning": _meaning(code),
            "device": chosen.kind,
            "device_name": chosen.name,
            "tasks": audits,
        }
    )
    return code


def _audited(
    console: Console, auditor: "Auditor", spec: str, scale: float | None, caps: "tuple[Cap, ...]"
) -> "TaskAudit | Unaudited":
    """One task's audit, or why there is none: a task that cannot be run does not stop the others."""
    from dataclasses import replace

    from warpsmith.core import UsageError
    from warpsmith.core.audit import Unaudited
    from warpsmith.tasks import load_task
    from warpsmith.tasks.caps import with_caps

    try:
        task = load_task(spec, scale=scale, device_kind=auditor.device.kind)
        source, _ = with_caps(task.source, task.task_id, caps)
        with console.busy(f"auditing {task.task_id}"):
            return auditor.audit(replace(task, source=source))
    except UsageError as error:
        console.complain(f"warpsmith: {' '.join(str(error).split())}")
        return Unaudited(task_id=spec, reason=str(error))


def _code(audits: "list[TaskAudit | Unaudited]") -> ExitCode:
    from warpsmith.core.audit import Unaudited

    if any(isinstance(found, Unaudited) for found in audits):
        return ExitCode.USAGE
    is_clean = all(not isinstance(found, Unaudited) and found.is_clean for found in audits)
    return ExitCode.OK if is_clean else ExitCode.BUG


def _meaning(code: ExitCode) -> str:
    return "something was found" if code is ExitCode.BUG else MEANINGS[code]
