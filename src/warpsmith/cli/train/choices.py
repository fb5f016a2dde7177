"""Options that the verbs of `warpsmith train` share. What is not said is as the recipe has it."""

from pathlib import Path
from typing import Annotated

import typer

SUITE_PANEL = "What is worked on"

ModelOption = Annotated[
    Path, typer.Option("--model", metavar="DIR", help="The student: a folder of Hugging Face's files.")
]
RunOption = Annotated[
    Path,
    typer.Option("--run", metavar="DIR", help="The training's folder; one that was stopped is gone on with."),
]
DataOption = Annotated[
    list[Path],
    typer.Option(
        "--data",
        metavar="FILE",
        help="Samples, as `warpsmith rollout` and `warpsmith train collect` write them. Repeatable.",
    ),
]
RecipeOption = Annotated[
    str,
    typer.Option(
        "--recipe",
        metavar="NAME",
        help="A whole configuration, of `warpsmith train recipes`; other options change single settings.",
    ),
]
AskedRewardOption = Annotated[
    str,
    typer.Option(
        "--reward",
        metavar="NAME",
        help="milestone, speedup, kevin, shaped or shaped-as-coded; see the documentation.",
    ),
]
RewardOption = Annotated[
    str | None,
    typer.Option("--reward", metavar="NAME", help="milestone, speedup, kevin, shaped or shaped-as-coded."),
]
StepsOption = Annotated[int | None, typer.Option(min=1, help="Steps in all.")]
AskedSeedOption = Annotated[int, typer.Option("--seed", help="All chance follows from it.")]
SeedOption = Annotated[int | None, typer.Option(help="All chance follows from it.")]
RateOption = Annotated[float | None, typer.Option("--lr", help="Learning rate.", min=0.0)]
TasksOption = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        metavar="TASK",
        help="A task, as warpsmith optimize takes it, in place of a suite. Repeatable.",
        rich_help_panel=SUITE_PANEL,
    ),
]
SuiteOption = Annotated[
    Path | None,
    typer.Option(
        "--suite",
        metavar="STORE.parquet",
        help="Tasks of a store, as warpsmith synth writes it.",
        rich_help_panel=SUITE_PANEL,
    ),
]
SplitOption = Annotated[
    str | None,
    typer.Option(
        "--split",
        metavar="train|validation|test",
        help="Which side of the suite. (default: train)",
        rich_help_panel=SUITE_PANEL,
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", min=1, help="The first so many of them.", rich_help_panel=SUITE_PANEL),
]
MannerOption = Annotated[
    str | None,
    typer.Option(
        "--manner",
        metavar="agent|answer",
        help="agent: with tools, over several turns. answer: one prompt, one reply with whole files.",
        rich_help_panel=SUITE_PANEL,
    ),
]
PerStepOption = Annotated[int | None, typer.Option(min=1, help="Tasks of one step.")]
PerTaskOption = Annotated[int | None, typer.Option(min=1, help="Episodes of one task, side by side.")]
