"""`warpsmith train pipeline`: all stages in order, the best by validation, and what the test split says."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.train.choices import SUITE_PANEL, RunOption
from warpsmith.cli.train.tables import comparison_table, kind_lines, standing_table
from warpsmith.cli.train.telling import draw, ended, tell
from warpsmith.core import UsageError

if TYPE_CHECKING:
    from warpsmith.learn.pipeline.course import Carried

EXAMPLES = (
    "warpsmith train pipeline --recipe cuda_agent_tiny --model ./qwen --suite f.parquet --run runs/ca",
    "warpsmith train pipeline --recipe smoke --device cpu --run runs/smoke",
)
SMOKE = "smoke"

StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--suite",
        metavar="STORE.parquet",
        help="Tasks of a store with the splits train, validation and test. (default for smoke: a dozen small "
        "tasks)",
        rich_help_panel=SUITE_PANEL,
    ),
]
BaseOption = Annotated[
    Path | None,
    typer.Option(
        "--model", metavar="DIR", help="What to begin with. (default for smoke: a tiny model is made)"
    ),
]


def pipeline(
    *,
    recipe: Annotated[
        str, typer.Option("--recipe", metavar="NAME", help="cuda_agent_tiny, stitch_tiny or smoke.")
    ],
    run: RunOption,
    model: BaseOption = None,
    suite: StoreOption = None,
    device: options.DeviceOption = "auto",
    sandbox: options.SandboxOption = "auto",
    json: options.JsonOption = False,
) -> ExitCode:
    """Take a model through all stages of a recipe, each beginning with what the last one wrote.

    First it is shown that no test task is among those that are trained on. What is finished is not done
    again: the same command goes on where it was stopped or killed. The validation split chooses among the
    students; the test split is looked at once, at the end.
    """
    from warpsmith.agent.optimize import OptimizeConfig
    from warpsmith.device import select_device
    from warpsmith.learn.pipeline.course import Listener, carry_out
    from warpsmith.learn.pipeline.judged import JudgedGround
    from warpsmith.learn.recipes.pipelines import pipeline_called
    from warpsmith.learn.toy.store import programs

    console = Console(is_json=json)
    parts = pipeline_called(recipe)
    if recipe != SMOKE and (model is None or suite is None):
        raise UsageError(
            f"{recipe} begins with a model and tasks: give --model DIR and --suite STORE.parquet"
        )
    chosen = select_device(device)
    ground = JudgedGround(
        store=suite or _small_store(run),
        config=OptimizeConfig(device=chosen, sandbox=sandbox),
        model=model,
        programs=programs() if suite is None else None,
    )
    listener = Listener(
        step=lambda part, step, metrics: tell(console, part, step, metrics), line=console.note
    )
    return _conclude(console, recipe, carry_out(parts, ground, run, listener))


def _small_store(run: Path) -> Path:
    """Beside the run's folder, since the run's own holds nothing that it did not make."""
    from warpsmith.learn.toy.store import write_store

    path = run.with_name(f"{run.name}-tasks") / "tasks.parquet"
    return path if path.is_file() else write_store(path)


def _conclude(console: Console, recipe: str, carried: "Carried") -> ExitCode:
    draw(console, [trained.folder for trained in carried.trained.values()], carried.folder)
    if carried.stopped is not None:
        return ended(console, recipe, carried.stopped)
    for part, standings in carried.standings.items():
        for name, found in standings.items():
            console.say(f"{part}: {name}", standing_table(found), *kind_lines(found))
    for part, gains in carried.gains.items():
        for name, gain in gains.items():
            console.say(f"{part}: {name} (B) beside the first (A)", comparison_table(gain))
    console.document(
        {
            "command": "train pipeline",
            "exit_code": 0,
            "folder": carried.folder,
            "trained": {name: trained.final for name, trained in carried.trained.items()},
            "chosen": carried.chosen,
            "standings": carried.standings,
            "gains": carried.gains,
        }
    )
    return ExitCode.OK
