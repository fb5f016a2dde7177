"""`warpsmith verify`: what is true of a program that someone says is a replacement for a task's."""

from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.documents import verdict_data
from warpsmith.cli.exit_codes import MEANINGS, ExitCode, judged
from warpsmith.cli.numbers import inputs_of, scale_of

if TYPE_CHECKING:
    from warpsmith.core import Candidate, Task, Verdict
    from warpsmith.device import Device
    from warpsmith.judge import Judge

EXAMPLES = (
    "warpsmith verify examples/rmsnorm_gelu.py runs/2030-01-31-rmsnorm_gelu-1",
    "warpsmith verify task.py . --no-timing",
    "warpsmith verify task.py . --json | jq .verdict",
)


def verify(
    *,
    task: options.TaskArgument,
    folder: options.FolderArgument,
    timing: Annotated[
        bool, typer.Option("--timing/--no-timing", help="Measure it too, or only judge whether it is right.")
    ] = True,
    sanitize: Annotated[
        bool,
        typer.Option(
            "--sanitize/--no-sanitize",
            help="On a GPU, also run compute-sanitizer's tools over one call, where they are installed.",
        ),
    ] = True,
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
    eval_results: options.EvalResultsOption = None,
    problem_id: options.ProblemOption = 1,
    sample_id: options.SampleOption = 0,
    json: options.JsonOption = False,
) -> ExitCode:
    """Judge a program: is it right, and is it faster?

    DIR holds model_new.py and kernels/*.cu, with bindings or without, or is one Python file that calls
    load_inline. The program runs in a sandbox, on inputs from secret seeds. It is
    compared with the task's reference against float64 truth; then it is timed beside eager and torch.compile.
    Nothing in DIR is changed.
    """
    from warpsmith.core import Candidate
    from warpsmith.device import select_device
    from warpsmith.report import kernelbench
    from warpsmith.report.kernelbench import Sample
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
    judge = _judge_of(console, loaded, chosen, sandbox, sanitizes=sanitize)
    verdict, environment = _judged(console, judge, candidate, is_timed=timing)
    if eval_results is not None:
        sample = Sample(problem_id=problem_id, sample_id=sample_id)
        kernelbench.add(eval_results, sample, verdict, chosen.name)
    facts: dict[str, object] = {"candidate_digest": candidate.digest, "environment": environment}
    return _conclude(console, loaded, verdict, facts)


def _judge_of(console: Console, task: "Task", device: "Device", kind: str, *, sanitizes: bool) -> "Judge":
    from warpsmith.judge import Judge, JudgeConfig
    from warpsmith.judge.clock.baselines import keeping_baselines
    from warpsmith.sandbox import pick
    from warpsmith.toolchain import Toolchain, default_store

    sandbox = pick(kind)
    console.warn(sandbox.warning)
    store = default_store()
    toolchain = Toolchain(device, store, sandbox)
    config = keeping_baselines(JudgeConfig(sanitizes=sanitizes), store.baselines)
    return Judge(task, device=device, sandbox=sandbox, toolchain=toolchain, config=config)


def _judged(
    console: Console, judge: "Judge", candidate: "Candidate", *, is_timed: bool
) -> "tuple[Verdict, dict[str, str]]":
    """The verdict, and what it depends on beside task and candidate."""
    with console.busy(f"judging on {judge.device.name}: the reference runs first"), judge:
        verdict = judge.measure(candidate) if is_timed else judge.verify(candidate)
        return verdict, judge.environment()


def _conclude(console: Console, task: "Task", verdict: "Verdict", facts: dict[str, object]) -> ExitCode:
    from warpsmith.core import Passed
    from warpsmith.report.terminal import VerdictTable, kernels_table
    from warpsmith.report.verdicts import evidence_text

    code = judged(verdict)
    console.say(VerdictTable(task.task_id, verdict), evidence_text(verdict))
    if isinstance(verdict, Passed) and verdict.resources:
        console.say(kernels_table(verdict.resources))
    console.document(
        {
            "command": "verify",
            "exit_code": int(code),
            "meaning": MEANINGS[code],
            "task": {"task_id": task.task_id, "digest": task.digest, "scale": task.scale},
            **facts,
            **verdict_data(verdict),
        }
    )
    return code
