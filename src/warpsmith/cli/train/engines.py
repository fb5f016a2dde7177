"""`--engine verl`: a stage of training that verl carries out, on as many nodes as there are."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.core import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warpsmith.core import Task
    from warpsmith.learn.config import StageConfig
    from warpsmith.learn.engines.verl.config import EngineConfig
    from warpsmith.learn.engines.verl.rows import Record
    from warpsmith.learn.recipes.base import Work
    from warpsmith.learn.trajectory import Sample

ENGINES = ("local", "verl")
PANEL = "Where it runs"
LONGEST, GUIDE = 32_768, 8_192  # tokens: of a sample, and of what an agent reads before its first word

EngineOption = Annotated[
    str,
    typer.Option(
        "--engine", metavar="local|verl", help="This process, or verl on Ray.", rich_help_panel=PANEL
    ),
]
NodesOption = Annotated[
    int | None, typer.Option("--nodes", min=1, help="Of verl. (default: 1)", rich_help_panel=PANEL)
]
GpusOption = Annotated[
    int | None, typer.Option("--gpus", min=1, help="Of each node. (default: 8)", rich_help_panel=PANEL)
]
DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Write all that verl needs to RUN, start nothing.", rich_help_panel=PANEL),
]

JudgeGpuOption = Annotated[
    int | None,
    typer.Option(
        "--judge-gpu",
        min=0,
        help="The GPU of each node that judges; Ray is started without it.",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """Where a training was asked to run. Raises UsageError at construction for what makes no sense."""

    engine: str = "local"
    nodes: int | None = None
    gpus: int | None = None
    judge_gpu: int | None = None
    is_dry: bool = False

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise UsageError(f"unknown engine {self.engine!r}; choose one of {', '.join(ENGINES)}")
        asked = (self.nodes, self.gpus, self.judge_gpu, self.is_dry or None)
        if self.engine == "local" and any(value is not None for value in asked):
            raise UsageError("--nodes, --gpus, --judge-gpu and --dry-run are verl's; add --engine verl")
        if self.judge_gpu is not None and self.judge_gpu < self.num_gpus:
            raise UsageError(
                f"verl has the GPUs 0 to {self.num_gpus - 1} of each node; let another judge, or lower --gpus"
            )

    @property
    def num_gpus(self) -> int:
        """Of each node, that verl trains and draws with."""
        return self.gpus or 8

    @property
    def is_here(self) -> bool:
        return self.engine == "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """A stage that is to be carried out elsewhere: on `samples`, or on `tasks` by the rules of `work`."""

    stage: "StageConfig"
    model: Path
    run: Path
    critic: Path | None = None
    samples: "Sequence[Sample]" = ()
    tasks: "Sequence[Task]" = ()
    work: "Work | None" = None
    device: str = "auto"
    sandbox: str = "auto"


def carry_out(console: Console, elsewhere: Elsewhere, errand: Errand) -> ExitCode:
    """Write the order, and start it unless the run is dry.

    Raises UsageError for what verl cannot do or refuses, EnvironmentMissing if it is not installed, and
    InfraError if it fails.
    """
    from warpsmith.learn.engines.verl.launch import launch, write
    from warpsmith.learn.engines.verl.order import order_of

    engine = _engine(elsewhere, errand)
    order = order_of(errand.stage, engine, errand.run, _post(elsewhere, errand))
    with console.busy("asking verl"):
        written = write(order, engine, _rows(errand, engine), errand.run)
    for note in written.notes:
        console.note(f"verl, {note}")
    if not written.is_checked:
        console.note("verl is not installed here, and has not looked at this")
    if not elsewhere.is_dry:
        launch(written, engine.rollout if order.is_ray else None)
    console.say(
        f"{'sh ' if elsewhere.is_dry else 'done: '}{written.script if elsewhere.is_dry else errand.run}"
    )
    console.document(
        {
            "command": "train on verl",
            "exit_code": 0,
            "folder": written.folder,
            "script": written.script,
            "arguments": list(written.command),
            "is_checked": written.is_checked,
            "notes": list(written.notes),
            "checkpoints": written.checkpoints,
        }
    )
    return ExitCode.OK


def _engine(elsewhere: Elsewhere, errand: Errand) -> "EngineConfig":
    from warpsmith.learn.engines.verl.config import EngineConfig

    most = min(_context_tokens(errand.model), LONGEST)
    prompt = min(GUIDE, most // 2)
    engine = EngineConfig(
        model=errand.model.absolute(),
        critic=None if errand.critic is None else errand.critic.absolute(),
        nodes=elsewhere.nodes or 1,
        gpus=elsewhere.num_gpus,
        prompt_tokens=prompt,
        response_tokens=most - prompt,
    )
    work = errand.work
    if work is None:
        return engine
    return replace(engine, prompts_per_step=work.tasks_per_step, samples_per_prompt=work.samples_per_task)


def _post(elsewhere: Elsewhere, errand: Errand) -> dict[str, Any]:
    """Where episodes take place: said in full, since each node would take `auto` for something else."""
    from warpsmith.core.codec import to_json

    if errand.work is None:
        return {}
    if errand.device not in ("cpu", "cuda"):
        raise UsageError("say which device judges on verl's nodes: --device cuda, or cpu with modelled times")
    if errand.device == "cuda" and elsewhere.judge_gpu is None:
        raise UsageError(
            "times are taken on a GPU that nobody else uses: --judge-gpu N, one that Ray is not given"
        )
    runs = errand.run.absolute()
    return {
        "_target_": "warpsmith.learn.engines.verl.acting.Post",
        "work": to_json(errand.work),
        "runs": str(runs.with_name(f"{runs.name}-episodes")),
        "device": errand.device,
        "gpu": elsewhere.judge_gpu if errand.device == "cuda" else None,
        "sandbox": errand.sandbox,
    }


def _rows(errand: Errand, engine: "EngineConfig") -> "list[Record]":
    from warpsmith.learn.config import ValueConfig
    from warpsmith.learn.engines.verl.rows import sample_rows, task_rows

    if errand.work is not None:
        return task_rows(errand.tasks)
    return sample_rows(errand.samples, engine, needs_reward=isinstance(errand.stage, ValueConfig))


def _context_tokens(model: Path) -> int:
    """What the model reads, by its own configuration. Raises UsageError if it says nothing of it."""
    path = model / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        return int(config.get("text_config", config)["max_position_embeddings"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{model} is no model of Hugging Face's files: {path.name} says {error!r:.120}"
        ) from error
