"""`warpsmith profile`: what limits a program, by the best profilers that work here."""

from typing import TYPE_CHECKING

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.documents import verdict_data
from warpsmith.cli.exit_codes import MEANINGS, ExitCode, judged
from warpsmith.cli.numbers import inputs_of, scale_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from warpsmith.agent.diagnosis.classifier import Classified
    from warpsmith.agent.diagnosis.examiner import Examination, Examiner
    from warpsmith.agent.diagnosis.figures import Figure
    from warpsmith.core import Task
    from warpsmith.device.base import Device

EXAMPLES = (
    "warpsmith profile examples/rmsnorm_gelu.py runs/2030-01-31-rmsnorm_gelu-1",
    "warpsmith profile examples/bottlenecks/uncoalesced/task.py examples/bottlenecks/uncoalesced/program",
    "warpsmith profile TASK DIR --device cpu --json",
)
MAX_KERNELS = 12


def profile(
    *,
    task: options.TaskArgument,
    folder: options.FolderArgument,
    scale: options.ScaleOption = None,
    inputs: options.InputsOption = None,
    init: options.InitOption = None,
    device: options.DeviceOption = "auto",
    arch: options.ArchOption = None,
    gpu: options.GpuOption = None,
    sandbox: options.SandboxOption = "auto",
    dtype: options.DtypeOption = "own",
    precision: options.PrecisionOption = "reference",
    train: options.TrainOption = False,
    backward: options.BackwardOption = False,
    json: options.JsonOption = False,
) -> ExitCode:
    """Say what limits a program, and the one thing to do about it.

    The program is judged and timed as by warpsmith verify. If it is right, it runs again in the same sandbox
    under Nsight Systems or torch.profiler, and its dominant kernel under Nsight Compute, where these work; on
    the cpu device that device counts. Each number says how it is known; one that is not available says why,
    and what would bring it. No more rights are asked for than there are.
    """
    from warpsmith.core import Candidate
    from warpsmith.device import select_device
    from warpsmith.tasks import judged_as, load_task

    console = Console(is_json=json)
    chosen = select_device(device, arch, gpu)
    candidate = Candidate.from_folder(folder)
    loaded = judged_as(
        load_task(
            task, inputs=inputs_of(inputs or ()), init=init, scale=scale_of(scale), device_kind=chosen.kind
        ),
        dtype=dtype,
        precision=precision,
        is_training=train,
        has_backward=backward,
    )
    examiner = _examiner(console, loaded, chosen, sandbox)
    with console.busy(f"profiling on {chosen.name}: it is judged first"), examiner:
        found = examiner.examine(candidate)
        environment = examiner.environment()
    return _conclude(
        console, loaded, found, {"candidate_digest": candidate.digest, "environment": environment}
    )


def _examiner(console: Console, task: "Task", device: "Device", kind: str) -> "Examiner":
    from warpsmith.agent.diagnosis.examiner import Examiner
    from warpsmith.judge import JudgeConfig
    from warpsmith.judge.clock.baselines import keeping_baselines
    from warpsmith.sandbox import pick
    from warpsmith.toolchain import Toolchain, default_store

    sandbox = pick(kind)
    console.warn(sandbox.warning)
    store = default_store()
    toolchain = Toolchain(device, store, sandbox)
    config = keeping_baselines(JudgeConfig(), store.baselines)
    return Examiner(task, device=device, sandbox=sandbox, toolchain=toolchain, config=config)


def _conclude(console: Console, task: "Task", found: "Examination", facts: dict[str, object]) -> ExitCode:
    from warpsmith.core import Passed
    from warpsmith.report.terminal import VerdictTable
    from warpsmith.report.verdicts import evidence_text

    code = ExitCode.OK if isinstance(found.verdict, Passed) else judged(found.verdict)
    console.say(VerdictTable(task.task_id, found.verdict), evidence_text(found.verdict))
    suggestion = _suggestion(found)
    if found.classified is not None:
        _tell(console, found, found.classified, facts)
    console.say(f"suggestion: {_plain(suggestion)}")
    console.document(
        {
            "command": "profile",
            "exit_code": int(code),
            "meaning": MEANINGS[code],
            "task": {"task_id": task.task_id, "digest": task.digest, "scale": task.scale},
            **facts,
            **verdict_data(found.verdict),
            "diagnosis": found.classified,
            "suggestion": suggestion,
            "figures": tuple(found.sheet),
            "profilers": found.rungs,
            "kernels": found.kernels,
            "traced_calls": found.num_traced_calls,
        }
    )
    return code


def _tell(console: Console, found: "Examination", classified: "Classified", facts: dict[str, object]) -> None:
    environment = facts["environment"]
    sandbox = environment.get("sandbox", "") if isinstance(environment, dict) else ""
    console.say(f"\nprofiled in the {sandbox} sandbox, by")
    for rung in found.rungs:
        fix = f"; {rung.fix}" if rung.fix else ""
        console.say(f"  {rung.tool}" if rung.is_used else f"  not {rung.tool}: {_plain(rung.why_not)}{fix}")
    if found.kernels:
        console.say("", _kernels_table(found))
    console.say("", _figures_table(figure for figure in found.sheet if figure.value is not None))
    lacking: dict[tuple[str, str], list[str]] = {}
    for one in found.sheet:
        if one.value is None:
            lacking.setdefault((one.note, one.fix), []).append(one.name)
    for (why, fix), names in lacking.items():
        console.say(
            f"unavailable ({_plain(why) or 'not told'}): {'; '.join(names)}{f' ({fix})' if fix else ''}"
        )
    if classified.unseen:
        topics = "; ".join(one.topic for one in classified.unseen)
        console.say(f"\ncannot see: {topics}")
    console.say(f"\nlimited by: {classified.kind}", f"finding: {classified.finding}")
    for figure in classified.evidence:
        console.say(f"  {_plain(str(figure))}")


def _suggestion(found: "Examination") -> str:
    """One thing to do: about its speed, or about what keeps it from being right."""
    from warpsmith.agent.team.diagnosis import Bounds, diagnosed
    from warpsmith.device.gpus import ASSUMED_LAUNCH_US

    if found.classified is not None:
        return found.classified.suggestion
    return diagnosed(found.verdict, Bounds(launch_us=ASSUMED_LAUNCH_US)).suggestion


def _figures_table(figures: "Iterable[Figure]") -> "Table":
    from rich.text import Text

    table = _table("figure", "value", "known", "of what, by whom")
    for one in figures:
        value = str(one).split(": ", 1)[1].rpartition(" (")[0]
        table.add_row(*(Text(_plain(cell)) for cell in (one.name, value, one.source, one.note)))
    return table


def _kernels_table(found: "Examination") -> "Table":
    from rich.text import Text

    table = _table("kernel", "launches a call", "us a call")
    for total in found.kernels[:MAX_KERNELS]:
        cells = (
            _plain(total.name)[:80],
            f"{total.num_launches / found.num_traced_calls:g}",
            f"{total.total_us / found.num_traced_calls:.4g}",
        )
        table.add_row(*map(Text, cells))
    return table


def _table(*columns: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _plain(text: str) -> str:
    """On one line, without control characters: names of kernels and words of tools are a stranger's."""
    from warpsmith.report.plain import one_line

    return one_line(text, 400)
