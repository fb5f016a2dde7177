"""`warpsmith runs list` and `warpsmith runs show`: what earlier runs found."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.documents import verdict_data
from warpsmith.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from warpsmith.report.runs import BrokenRun, Run
    from warpsmith.report.turns import TrajectorySummary

LIST_EXAMPLES = (
    "warpsmith runs list",
    "warpsmith runs list /data/runs --json | jq -r '.runs[] | select(.is_correct) | .folder'",
)


def list_(
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="The folder that holds the runs. (default: runs)")
    ] = None,
    json: options.JsonOption = False,
) -> ExitCode:
    """List the runs of a folder, the unfinished and the broken ones too."""
    from warpsmith.agent.record import RUNS
    from warpsmith.core import UsageError
    from warpsmith.report.runs import list_runs
    from warpsmith.report.terminal import runs_table

    console = Console(is_json=json)
    if folder is not None and not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; name the one that holds the runs")
    place = folder or RUNS
    runs = list_runs(place) if place.is_dir() else ()
    console.say(runs_table(runs) if runs else f"no runs in {place}; make one: warpsmith optimize TASK")
    console.document({"command": "runs list", "exit_code": 0, "runs": [_run_data(run) for run in runs]})
    return ExitCode.OK


SHOW_EXAMPLES = (
    "warpsmith runs show runs/2030-01-31-rmsnorm_gelu-1",
    "warpsmith runs show RUN --json | jq '.turns[].did'",
)


def show(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")],
    json: options.JsonOption = False,
) -> ExitCode:
    """Show one run: its table, what was done turn by turn, and where the files are."""
    from warpsmith.core import UsageError
    from warpsmith.report.runs import BrokenRun, read_lines, read_run
    from warpsmith.report.turns import summarize

    console = Console(is_json=json)
    run = read_run(folder)
    if isinstance(run, BrokenRun):
        raise UsageError(f"{folder} holds no readable run: {run.reason}")
    trajectory = summarize(read_lines(folder))
    _say(console, run, trajectory)
    console.document(
        {
            "command": "runs show",
            "exit_code": 0,
            **_run_data(run),
            "cost": None if run.outcome is None else run.outcome.cost,
            "environment": run.started.environment,
            "trajectory": trajectory,
        }
    )
    return ExitCode.OK


def _say(console: Console, run: "Run", trajectory: "TrajectorySummary") -> None:
    from warpsmith.report.plain import printable
    from warpsmith.report.terminal import VerdictTable, turns_table
    from warpsmith.report.verdicts import evidence_text

    console.say(VerdictTable(run.started.task_id, run.verdict))
    if run.verdict is not None:
        console.say(evidence_text(run.verdict))
    console.say("", turns_table(trajectory.turns), "", f"state: {run.state.value}")
    if trajectory.aborted is not None:
        console.say(f"it broke off: {printable(trajectory.aborted)}")
    if trajectory.num_damaged_lines:
        console.say(f"damaged lines in its trajectory: {trajectory.num_damaged_lines}")
    for path in sorted(run.folder.iterdir()):
        if not path.name.startswith("."):
            console.say(printable(f"  {path}{'/' if path.is_dir() else ''}"))


def _run_data(run: "Run | BrokenRun") -> dict[str, Any]:
    """A run for a script; a broken one has a reason and nothing else."""
    from warpsmith.report.runs import BrokenRun

    if isinstance(run, BrokenRun):
        return {"folder": run.folder, "state": "broken", "reason": run.reason}
    outcome = run.outcome
    return {
        "folder": run.folder,
        "state": run.state,
        "task_id": run.started.task_id,
        "policy": run.started.policy,
        "device": run.started.device,
        "started_at": run.started_at,
        "stop": None if outcome is None else outcome.stop,
        "candidate_digest": None if outcome is None else outcome.candidate_digest,
        **verdict_data(run.verdict),
    }
