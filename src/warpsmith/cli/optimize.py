"""`warpsmith optimize`: the main job, from a task to a run folder with the best program and its evidence."""

from collections.abc import Sequence
from typing import Annotated

import typer

from warpsmith.cli import asking, casting, options, spending
from warpsmith.cli.asking import Manner
from warpsmith.cli.casting import Troupe, casting_of
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.numbers import inputs_of, scale_of
from warpsmith.cli.spending import Caps
from warpsmith.cli.writers import BUILTIN, Prices, Writer, check_writes, writer_of
from warpsmith.core import UsageError

EXAMPLES = (
    "warpsmith optimize examples/rmsnorm_gelu.py",
    "warpsmith optimize task.py --device cpu --gpu a100 --scale 1/16",
    'warpsmith optimize torch.nn:GELU --inputs "f32[64,1024]" --max-minutes 5',
    "warpsmith optimize task.py --model openai:my-model --base-url http://localhost:8000/v1 --max-usd 2",
    "warpsmith optimize task.py --model openai:small --model openai:large --n 8",
    "warpsmith optimize task.py --agent team --planner openai:large --coder openai:small --verifier rules",
    "warpsmith optimize task.py --json > result.json",
)

ModelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="KIND[:NAME]",
        help="Who writes the kernels. builtin (default) needs no model, key or network. openai:NAME and "
        "anthropic:NAME ask an endpoint, with the key in OPENAI_API_KEY or ANTHROPIC_API_KEY. local:DIR runs "
        "a model's folder or GGUF file in this process. replay:RUN says again what an earlier run's said. "
        "Repeatable: several models share the attempts of --n.",
    ),
]


def optimize(
    *,
    task: options.TaskArgument,
    agent: casting.AgentOption = casting.SKILL,
    model: ModelOption = None,
    planner: casting.PlannerOption = None,
    coder: casting.CoderOption = None,
    verifier: casting.VerifierOption = None,
    n: Annotated[
        int | None,
        typer.Option("--n", min=1, help="Independent attempts, side by side. (default: one a model)"),
    ] = None,
    out: options.OutOption = None,
    scale: options.ScaleOption = None,
    inputs: options.InputsOption = None,
    init: options.InitOption = None,
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
    its 95 % interval, time over the speed of light), what was spent, and the run folder: model_new.py and
    kernels/ as one would commit them, README.md, verdict.json with all samples, trajectory.jsonl, build logs.

    Ctrl-C once finishes the current step, measures the best so far and saves; twice stops at once. Either way
    the best so far is kept, and so it is if the process is killed: see warpsmith runs resume.
    """
    from warpsmith.agent import Budget
    from warpsmith.agent.optimize import DeviceChoice, OptimizeConfig
    from warpsmith.cli.order import Order, carry_out
    from warpsmith.device import select_device
    from warpsmith.judge import JudgeConfig
    from warpsmith.judge.clock.baselines import keeping_baselines
    from warpsmith.policy import PolicyConfig
    from warpsmith.tasks import judged_as, load_task
    from warpsmith.toolchain import default_store

    models = tuple(model or (BUILTIN,))
    cast = casting_of(agent, models, planner=planner, coder=coder, verifier=verifier)
    coders = models if cast is None else (cast.coder,)
    num_attempts = _num_attempts(n, coders)
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
    prices = Prices.of_models(tuple(price or ()), models if cast is None else cast.models)
    chosen = select_device(device, arch, gpu)
    loaded = judged_as(
        load_task(
            task, inputs=inputs_of(inputs or ()), init=init, scale=scale_of(scale), device_kind=chosen.kind
        ),
        dtype=dtype,
        precision=precision,
        is_training=train,
        has_backward=backward,
    )
    check_writes(coders, loaded)
    asked = manner.applied(PolicyConfig(gpu=chosen.gpu, precision=loaded.precision))
    config = OptimizeConfig(
        device=chosen,
        sandbox=sandbox,
        judge=keeping_baselines(JudgeConfig(), default_store().baselines),
        budget=caps.applied(Budget()),
        folder=out,
        device_choice=DeviceChoice(kind=device, arch=arch, gpu=gpu),
    )
    has_cap = max_usd is not None

    def written_by(spec: str | None) -> Writer | None:
        if spec is None or spec == casting.RULES:
            return None
        return writer_of(spec, asked, prices, needs_price=has_cap)

    writers = tuple(writer_of(spec, asked, prices, needs_price=has_cap) for spec in coders)
    troupe = None
    if cast is not None:
        troupe = Troupe(kind=cast.kind, planner=written_by(cast.planner), verifier=written_by(cast.verifier))
    order = Order(task=loaded, writers=writers, troupe=troupe, num_attempts=num_attempts, config=config)
    return carry_out(Console(is_json=json), order)


def _num_attempts(n: int | None, models: Sequence[str]) -> int:
    if n is not None and n < len(models):
        raise UsageError(
            f"--n {n} is less than the {len(models)} models that are named; give each an attempt"
        )
    return n or len(models)
