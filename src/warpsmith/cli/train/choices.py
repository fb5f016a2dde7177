"""Options that the verbs of `warpsmith train` share."""

from pathlib import Path
from typing import Annotated

import typer

ModelOption = Annotated[
    Path, typer.Option("--model", metavar="DIR", help="The student: a folder of Hugging Face's files.")
]
RunOption = Annotated[
    Path,
    typer.Option("--run", metavar="DIR", help="The training's folder; one that was stopped is gone on with."),
]
DataOption = Annotated[
    Path, typer.Option("--data", metavar="FILE", help="Samples, as `warpsmith train collect` writes them.")
]
RewardOption = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="milestone, speedup, kevin, shaped or shaped-as-coded; see the documentation."
    ),
]
StepsOption = Annotated[int, typer.Option(min=1, help="Steps in all.")]
SeedOption = Annotated[int, typer.Option(help="All chance follows from it.")]
RateOption = Annotated[
    float | None, typer.Option("--lr", help="Learning rate. (default: the recipe's)", min=0.0)
]
TasksOption = Annotated[
    list[str],
    typer.Option("--task", metavar="TASK", help="A task, as warpsmith optimize takes it. Repeatable."),
]
PerStepOption = Annotated[int, typer.Option(min=1, help="Tasks of one step.")]
PerTaskOption = Annotated[int, typer.Option(min=1, help="Episodes of one task, side by side.")]
