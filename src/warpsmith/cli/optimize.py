"""`warpsmith optimize`: the main job, from a task to a run folder with the best program and its evidence."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.documents import verdict_data
from warpsmith.cli.errors import exit_code_of, message_of
from warpsmith.cli.exit_codes import MEANINGS, ExitCode, optimized
from warpsmith.cli.numbers import inputs_of, prices_of, scale_of
from warpsmith.core import InfraError, UsageError

if TYPE_CHECKING:
    from warpsmith.agent.optimize import OptimizeConfig, Optimized
    from warpsmith.core import Task, Verdict

EXAMPLES = (
    "warpsmith optimize examples/rmsnorm_gelu.py",
    "warpsmith optimize task.py --device cpu --gpu a100 --scale 1/16",
    'warpsmith optimize torch.nn:GELU --inputs "f32[64,1024]" --max-minutes 5',
    "warpsmith optimize task.py --policy openai:my-model --base-url http://localhost:8000/v1",
    "warpsmith optimize task.py --json > result.json",
)


def optimize(
    *,
    task: options.TaskArgument,
    policy: Annotated[
        str,
        typer.Option(
            metavar="builtin|openai:NAME",
            help="Who writes the kernels. builtin needs no model, key or network. openai:NAME asks an "
            "OpenAI-compatible endpoint (key in OPENAI_API_KEY).",
        ),
    ] = "builtin",
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="The endpoint, such as http://localhost:8000/v1. (default: OpenAI's)"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The run's folder, new or empty. (default: a new one under runs/)"),
    ] = None,
    scale: options.ScaleOption = None,
    inputs: options.InputsOption = None,
    init: options.InitOption = None,
    max_turns: Annotated[int, typer.Option(min=1, help="Replies.", rich_help_panel=options.BUDGET)] = 200,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="Prompt and completion together.", rich_help_panel=options.BUDGET),
    ] = None,
    max_minutes: Annotated[
        float | None, typer.Option(min=0.01, help="Wall time.", rich_help_panel=options.BUDGET)
    ] = None,
    max_usd: Annotated[
        float | None, typer.Option(min=0.0, help="Money.", rich_help_panel=options.BUDGET)
    ] = None,
    price: Annotated[
        str | None,
        typer.Option(
            metavar="IN/OUT",
            help="What openai:NAME charges, in USD for a million prompt and a million completion tokens, "
            "such as 2.5/10; --max-usd needs it.",
            rich_help_panel=options.BUDGET,
        ),
    ] = None,
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
    """Make a PyTorch module faster: write CUDA for it, prove it correct, measure it.

    Shows progress and ends with a table (task, verdict, times of eager, torch.compile and ours, ratio with
    its 95 % interval, time over the speed of light) and the run folder: model_new.py and kernels/ as one
    would commit them, README.md, verdict.json with all samples, trajectory.jsonl, build logs.

    Ctrl-C once finishes the current step, measures the best so far and saves; twice stops at once. Either way
    the best so far is kept.
    """
    from warpsmith.agent.budget import Budget
    from warpsmith.agent.optimize import OptimizeConfig
    from warpsmith.agent.optimize import optimize as optimize_task
    from warpsmith.cli.progress import Progress
    from warpsmith.device import select_device
    from warpsmith.judge import JudgeConfig
    from warpsmith.judge.baselines import keeping_baselines
    from warpsmith.policy import PolicyConfig, make_policy
    from warpsmith.sandbox import pick
    from warpsmith.tasks import judged_as, load_task
    from warpsmith.toolchain import default_store

    console = Console(is_json=json)
    chosen = select_device(device, arch, gpu)
    _check_writes(policy, dtype, is_training=train, has_backward=backward)
    loaded = judged_as(
        load_task(
            task, inputs=inputs_of(inputs or ()), init=init, scale=scale_of(scale), device_kind=chosen.kind
        ),
        dtype=dtype,
        precision=precision,
        is_training=train,
        has_backward=backward,
    )
    budget = Budget(
        max_turns=max_turns,
        max_tokens=max_tokens,
        max_wall_s=None if max_minutes is None else max_minutes * 60,
        max_usd=max_usd,
    )
    judge = keeping_baselines(JudgeConfig(), default_store().baselines)
    config = OptimizeConfig(device=chosen, sandbox=sandbox, budget=budget, folder=out, judge=judge)
    prompt_usd, completion_usd = prices_of(
        price, is_needed=max_usd is not None and policy.startswith("openai")
    )
    policy_config = PolicyConfig(
        base_url=base_url,
        usd_per_million_prompt_tokens=prompt_usd,
        usd_per_million_completion_tokens=completion_usd,
        gpu=chosen.gpu,
        precision=loaded.precision,
    )
    writer = make_policy(policy, policy_config)
    console.warn(pick(sandbox).warning)
    with Progress(console) as progress:
        done = optimize_task(loaded, writer, config, progress)
    problem = _finish(done, config)
    return _conclude(console, loaded, done, problem)


def _check_writes(policy: str, dtype: str, *, is_training: bool, has_backward: bool) -> None:
    """Raises UsageError if this policy does not write what is asked for."""
    if policy == "builtin" and (is_training or has_backward or dtype in ("fp16", "bf16")):
        raise UsageError(
            "the builtin policy writes forward passes in fp32 and in eval mode; ask another one "
            "(--policy openai:NAME) for --train, --backward or a half precision"
        )


def _finish(done: "Optimized", config: "OptimizeConfig") -> BaseException | None:
    """Make the run's folder usable. The program is safe by now: what goes wrong is told after the result."""
    from warpsmith.report.package import finish
    from warpsmith.sandbox import pick
    from warpsmith.toolchain import Toolchain, default_store

    try:
        finish(done.folder, Toolchain(config.device, default_store(), pick(config.sandbox)))
    except (UsageError, InfraError, OSError) as error:
        return error
    return None


def _conclude(console: Console, task: "Task", done: "Optimized", problem: BaseException | None) -> ExitCode:
    from warpsmith.report.terminal import VerdictTable

    best, stop = done.trajectory.best, done.trajectory.stop
    code = optimized(best, stop) if problem is None else exit_code_of(problem)
    verdict = None if best is None else best.verdict
    last_words = done.trajectory.turns[-1].reply.text if done.trajectory.turns else ""
    console.say(VerdictTable(task.task_id, verdict), _why(verdict, last_words), f"run folder: {done.folder}")
    if problem is not None:
        console.complain(f"warpsmith: {message_of(problem)}")
    console.document(
        {
            "command": "optimize",
            "exit_code": int(code),
            "meaning": MEANINGS[code],
            "task": {"task_id": task.task_id, "digest": task.digest, "scale": task.scale},
            "folder": done.folder,
            "stop": stop,
            "cost": done.trajectory.cost,
            "num_turns": len(done.trajectory.turns),
            "last_words": last_words,
            "candidate_digest": None if best is None else best.candidate.digest,
            **verdict_data(verdict),
            "environment": done.environment,
            "error": None if problem is None else message_of(problem),
        }
    )
    return code


def _why(verdict: "Verdict | None", last_words: str) -> str:
    """The evidence for a verdict, or for there being none: what the policy said in the end."""
    from warpsmith.report.plain import last_lines
    from warpsmith.report.verdicts import evidence_text

    if verdict is not None:
        return evidence_text(verdict)
    return f"last words: {last_lines(last_words) or 'none'}"
