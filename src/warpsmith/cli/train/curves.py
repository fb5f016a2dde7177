"""`warpsmith train curves`: what a training run told of its steps, as pictures."""

from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode

EXAMPLES = (
    "warpsmith train curves runs/ppo --out curves.html",
    "warpsmith train curves runs/ppo runs/ppo-without-critic --out both.html --png pictures",
)


def curves(
    *,
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders of warpsmith train, or of several runs.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The page, one HTML file.")],
    png: Annotated[
        Path | None, typer.Option("--png", metavar="DIR", help="Write each picture as a PNG there too.")
    ] = None,
    json: options.JsonOption = False,
) -> ExitCode:
    """Draw the curves of a training run, or of several over each other, also while it goes on.

    Needs matplotlib: pip install 'warpsmith[plots]'.
    """
    from warpsmith.learn.curves import read_runs, write_page

    console = Console(is_json=json)
    found = read_runs(runs)
    with console.busy("drawing"):
        written = write_page(found, out, png)
    steps = ", ".join(f"{run.name} {run.num_steps}" for run in found)
    console.say(f"{out}: {len(found)} runs, steps: {steps}")
    console.document(
        {
            "command": "train curves",
            "exit_code": 0,
            "files": written,
            "runs": [{"name": run.name, "stage": run.stage, "num_steps": run.num_steps} for run in found],
        }
    )
    return ExitCode.OK
