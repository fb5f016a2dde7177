"""`warpsmith runs resume` and `warpsmith runs fork`: going on with a run, in its folder or in a new one."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import asking, options, spending
from warpsmith.cli.asking import Manner
from warpsmith.cli.console import Console
from warpsmith.cli.ending import Both, Ended, Tally, conclude
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.spending import Caps
from warpsmith.cli.writers import Prices, check_writes, probed, writer_of
from warpsmith.core import UsageError

if TYPE_CHECKING:
    from warpsmith.agent.optimize import Optimized
    from warpsmith.agent.runs.past import Past
    from warpsmith.agent.runs.spec import RunSpec

RESUME_EXAMPLES = (
    "warpsmith runs resume runs/2030-01-31-rmsnorm_gelu-1",
    "warpsmith runs resume RUN --max-usd 5 --max-minutes 90",
)


def resume(
    *,
    folder: options.RunArgument,
    max_turns: spending.TurnsOption = None,
    max_tokens: spending.TokensOption = None,
    max_minutes: spending.MinutesOption = None,
    max_usd: spending.UsdOption = None,
    max_gpu_seconds: spending.GpuSecondsOption = None,
    patience: spending.PatienceOption = None,
    json: options.JsonOption = False,
) -> ExitCode:
    """Go on with a run that was killed or stopped, in its own folder, from the end of its last turn.

    Model, device and budget are those that it began with; what it has spent counts. A cap that is named here
    takes the place of the run's own. No reply that was had is paid for again.
    """
    from warpsmith.agent.runs import resume as going_on
    from warpsmith.agent.runs.past import past_of, unfinished
    from warpsmith.cli.progress import Progress

    console = Console(is_json=json)
    caps = Caps(
        max_turns=max_turns,
        max_tokens=max_tokens,
        max_minutes=max_minutes,
        max_usd=max_usd,
        max_gpu_seconds=max_gpu_seconds,
        patience=patience,
    )
    _check_single(folder)
    budget = caps.applied(past_of(folder).spec.budget) if caps.is_said else None
    past = unfinished(folder, budget)
    tally = Tally(past.events)
    with tally.told_at_failure(console), Progress(console) as progress:
        done = going_on.resume(folder, Both(progress, tally), budget=budget)
    return _concluded(console, "runs resume", past, past.spec, done)


FORK_EXAMPLES = (
    "warpsmith runs fork RUN --turn 12 --model openai:larger --base-url http://localhost:8000/v1",
    "warpsmith runs fork RUN --turn 3 --device cuda --out runs/on-the-gpu",
)


def fork(
    *,
    folder: options.RunArgument,
    turn: Annotated[int, typer.Option("--turn", metavar="N", help="Go on from the end of this turn.")],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="KIND[:NAME]",
            help="Who goes on, asked as is said here; of a team, who codes. (default: who wrote it, asked as "
            "before)",
        ),
    ] = None,
    out: options.OutOption = None,
    max_turns: spending.TurnsOption = None,
    max_tokens: spending.TokensOption = None,
    max_minutes: spending.MinutesOption = None,
    max_usd: spending.UsdOption = None,
    max_gpu_seconds: spending.GpuSecondsOption = None,
    patience: spending.PatienceOption = None,
    base_url: asking.BaseUrlOption = None,
    price: asking.PriceOption = None,
    temperature: asking.TemperatureOption = None,
    top_p: asking.TopPOption = None,
    max_reply_tokens: asking.ReplyTokensOption = None,
    seed: asking.SeedOption = None,
    style: asking.StyleOption = None,
    feed_thinking: asking.ThinkingOption = None,
    context_tokens: asking.ContextOption = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="auto|cuda|cpu",
            help="What executes the kernels from there on. On another device than before the best program "
            "is timed anew. (default: as the run)",
            rich_help_panel=options.JUDGING,
        ),
    ] = None,
    arch: options.ArchOption = None,
    gpu: options.GpuOption = None,
    json: options.JsonOption = False,
) -> ExitCode:
    """Make a new run that goes on from a turn of another, with another model or on another device.

    The run that it comes from is read and not changed; it may be running. The budget is that of the other run
    but for what is named here, and it is for the new run alone.
    """
    from warpsmith.agent.runs import resume as going_on
    from warpsmith.agent.runs.past import entries_until, past_of
    from warpsmith.cli.progress import Progress

    console = Console(is_json=json)
    caps = Caps(
        max_turns=max_turns,
        max_tokens=max_tokens,
        max_minutes=max_minutes,
        max_usd=max_usd,
        max_gpu_seconds=max_gpu_seconds,
        patience=patience,
    )
    manner = Manner(
        base_url=base_url,
        temperature=temperature,
        top_p=top_p,
        max_reply_tokens=max_reply_tokens,
        seed=seed,
        style=style,
        feeds_thinking=feed_thinking,
        context_tokens=context_tokens,
    )
    _check_single(folder)
    past = past_of(folder)
    entries_until(past, turn)  # says which turns there are
    spec = _elsewhere(_by_another(past.spec, model), device, arch, gpu)
    budget = caps.applied(spec.budget)
    prices = Prices.of_models(tuple(price or ()), (spec.policy,))
    asked = manner.applied(spec.policy_config)
    check_writes((spec.policy,), past.task)
    writer = probed(console, writer_of(spec.policy, asked, prices, needs_price=budget.max_usd is not None))
    spec = replace(spec, policy_config=writer.config, budget=budget)
    tally = Tally()
    with tally.told_at_failure(console), Progress(console) as progress:
        done = going_on.fork(folder, turn, out, Both(progress, tally), spec)
    return _concluded(console, "runs fork", past, spec, done)


def _check_single(folder: Path) -> None:
    """Raises UsageError for a run of several attempts: each of these is a run that can be gone on with."""
    from warpsmith.report.attempts import attempts_of
    from warpsmith.report.runs import RunState

    attempts = attempts_of(folder)
    if attempts:
        cut_short = [str(one.folder) for one in attempts if one.state is RunState.CUT_SHORT]
        names = cut_short or [str(one.folder) for one in attempts]
        raise UsageError(f"{folder} is a run of several attempts; name one of them: {', '.join(names)}")


def _by_another(spec: "RunSpec", model: str | None) -> "RunSpec":
    """Another model has another endpoint, other prices and other habits: nothing of the first one's holds."""
    from warpsmith.policy import PolicyConfig

    if model is None:
        return spec
    before = spec.policy_config
    return replace(spec, policy=model, policy_config=PolicyConfig(gpu=before.gpu, precision=before.precision))


def _elsewhere(spec: "RunSpec", device: str | None, arch: str | None, gpu: str | None) -> "RunSpec":
    """On another device; one that is named anew has its own architecture and peaks."""
    from warpsmith.device import select_device

    if device is None and arch is None and gpu is None:
        return spec
    chosen = select_device(device or spec.device, arch, gpu)
    return replace(
        spec,
        device=device or spec.device,
        arch=arch,
        gpu=gpu,
        policy_config=replace(spec.policy_config, gpu=chosen.gpu),
    )


def _concluded(console: Console, command: str, past: "Past", spec: "RunSpec", done: "Optimized") -> ExitCode:
    from warpsmith.device import select_device

    device = select_device(spec.device, spec.arch, spec.gpu)
    return conclude(
        console, Ended(command=command, task=past.task, done=done, device=device, sandbox=spec.sandbox)
    )
