"""Options that several commands share, each described once."""

from pathlib import Path
from typing import Annotated

import typer

JUDGING = "Where and how it is judged"
KERNELBENCH = "For KernelBench's own analysis"

TaskArgument = Annotated[
    str,
    typer.Argument(
        metavar="TASK",
        help="A Python file with Model, get_inputs and get_init_inputs (KernelBench's format), "
        "package.module:Class with --inputs, or STORE.parquet:TASK.",
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document on stdout and nothing else; progress on stderr."),
]
DeviceOption = Annotated[
    str,
    typer.Option(
        "--device",
        metavar="auto|cuda|cpu",
        help="What executes the kernels. auto: the GPU if there is one, else cpu, where the same CUDA source "
        "runs on the CPU and its speed is modelled, not measured.",
        rich_help_panel=JUDGING,
    ),
]
ArchOption = Annotated[
    str | None,
    typer.Option(
        "--arch",
        metavar="sm_XX",
        help="Architecture to compile for, such as sm_90a. (default: the GPU's own; sm_90a without one)",
        rich_help_panel=JUDGING,
    ),
]
GpuOption = Annotated[
    str | None,
    typer.Option(
        "--gpu",
        metavar="NAME",
        help="Whose peaks bound and model the time: h200, h100, a100, rtx4090, l4. "
        "(default: the GPU itself; h200 without one)",
        rich_help_panel=JUDGING,
    ),
]
SandboxOption = Annotated[
    str,
    typer.Option(
        "--sandbox",
        metavar="auto|bubblewrap|docker|process",
        help="Where programs that nobody trusts yet run. auto: the strongest that works here.",
        rich_help_panel=JUDGING,
    ),
]
ScaleOption = Annotated[
    str | None,
    typer.Option(
        "--scale",
        metavar="1/64",
        help="Shrink or grow the task: replaces SCALE in its file. A fraction or a number. "
        "(default: the file's own on a GPU, at most 1/64 on cpu)",
    ),
]
InputsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--inputs",
        metavar='"f32[64,1024]"',
        help="One for each argument of forward, for package.module:Class.",
    ),
]
InitOption = Annotated[
    str | None,
    typer.Option(
        "--init",
        metavar="JSON",
        help="The constructor's arguments, for package.module:Class: a list or object.",
    ),
]
DtypeOption = Annotated[
    str,
    typer.Option(
        "--dtype",
        metavar="own|fp32|fp16|bf16",
        help="What inputs and weights are cast to, for reference and program alike. own: as the task makes "
        "them.",
        rich_help_panel=JUDGING,
    ),
]
PrecisionOption = Annotated[
    str,
    typer.Option(
        "--precision",
        metavar="reference|tf32",
        help="reference: fp32 stays fp32 everywhere, in convolutions too. tf32: reference and program may "
        "round what products read to 10 bits.",
        rich_help_panel=JUDGING,
    ),
]
TrainOption = Annotated[
    bool,
    typer.Option(
        "--train", help="Run in train mode, and compare buffers afterwards.", rich_help_panel=JUDGING
    ),
]
BackwardOption = Annotated[
    bool,
    typer.Option(
        "--backward",
        help="Compare gradients of inputs and parameters too; time forward and backward together.",
        rich_help_panel=JUDGING,
    ),
]
EvalResultsOption = Annotated[
    Path | None,
    typer.Option(
        "--eval-results",
        metavar="FILE",
        help="Also put the verdict into FILE as KernelBench's eval_results.json has it. Only a measured time "
        "is written as one.",
        rich_help_panel=KERNELBENCH,
    ),
]
ProblemOption = Annotated[
    int,
    typer.Option(
        "--problem-id",
        metavar="N",
        min=0,
        help="The problem's number in its level.",
        rich_help_panel=KERNELBENCH,
    ),
]
SampleOption = Annotated[
    int,
    typer.Option(
        "--sample-id",
        metavar="N",
        min=0,
        help="Which of the problem's answers this is.",
        rich_help_panel=KERNELBENCH,
    ),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="The run's folder, new or empty. (default: a new one under runs/)"
    ),
]
FolderArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder with model_new.py and kernels/*.cu, such as a run's.")
]
