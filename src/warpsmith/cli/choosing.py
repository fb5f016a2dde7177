"""The options that say which tasks a bench is about, who works on them, and how far it goes."""

from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli import options, spending

WHICH = "Which tasks"

SuiteArgument = Annotated[
    str,
    typer.Argument(
        metavar="SUITE",
        help="kernelbench, ops6k or jsonl, with --dir; or store:DIR, a store of tasks.",
    ),
]
DirOption = Annotated[
    Path | None,
    typer.Option("--dir", metavar="PATH", help="Where the suite lies.", rich_help_panel=WHICH),
]
LevelsOption = Annotated[
    str | None,
    typer.Option("--levels", metavar="1,2,3", help="Only these levels.", rich_help_panel=WHICH),
]
TasksOption = Annotated[
    str | None,
    typer.Option(
        "--tasks",
        metavar="PATTERN",
        help="Only tasks of such a name: a part of it, or '*Softmax*'.",
        rich_help_panel=WHICH,
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", min=1, metavar="N", help="The first N of each level.", rich_help_panel=WHICH),
]
CapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--cap",
        metavar="NAME=N",
        help="Run tasks smaller: integers of names like NAME that a file assigns at its top level are at "
        "most N. The table says so. Repeatable.",
        rich_help_panel=WHICH,
    ),
]
ModeOption = Annotated[
    str, typer.Option("--mode", metavar="eval|train", help="How the models run.", rich_help_panel=WHICH)
]
PolicyOption = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="KIND[:NAME]",
        help="Who writes the kernels, as --model of warpsmith optimize: builtin, openai:NAME, …",
    ),
]
RunOption = Annotated[
    Path | None,
    typer.Option(
        "--run",
        metavar="DIR",
        help="The bench's folder. One that holds an unfinished bench of the same settings is gone on with. "
        "(default: a new one under runs/)",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        max=256,
        metavar="N",
        help="Tasks at a time, each in processes of its own; they take turns on the GPU. "
        "(default: one for two cores, at most 3 a GPU)",
    ),
]
MaxMinutesOption = Annotated[
    float | None,
    typer.Option("--max-minutes", min=0.01, help="End then, with what is done; go on later with --run."),
]
TaskMinutesOption = Annotated[
    float,
    typer.Option(
        "--task-minutes",
        min=0.01,
        max=10_000.0,
        help="Of one task's episode.",
        rich_help_panel=spending.PANEL,
    ),
]
AuditOption = Annotated[
    float,
    typer.Option(
        "--audit-seconds",
        min=0.0,
        max=86400.0,
        help="For probing each task itself: is it degenerate? 0: no audit.",
    ),
]
EvalResultsOption = Annotated[
    Path | None,
    typer.Option(
        "--eval-results",
        metavar="DIR",
        help="Also write level<n>/eval_results.json there, as KernelBench has it. Only a measured time is "
        "written as one.",
        rich_help_panel=options.KERNELBENCH,
    ),
]
