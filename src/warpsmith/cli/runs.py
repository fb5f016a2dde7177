"""`warpsmith runs`: what earlier runs found, two of them compared, and one of them taken up again."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.documents import entry_data, verdict_data
from warpsmith.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from warpsmith.agent.runs.ledger import Row
    from warpsmith.report.diff import Side
    from warpsmith.report.runs import Run
    from warpsmith.report.turns import TrajectorySummary

LIST_EXAMPLES = (
    "warpsmith runs list",
    "warpsmith runs list --task 'softmax*' --correct --sort time",
    "warpsmith runs list /data/runs --json | jq -r '.runs[] | select(.is_correct) | .folder'",
)


def list_(
    *,
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="The folder that holds the runs. (default: runs)")
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only on such a task: a part of its name, or 'soft*'.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only by such a policy: a part of its name, or 'o*'.")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(metavar="finished|running|cut-short|broken", help="Only runs that have come so far."),
    ] = None,
    correct: Annotated[
        bool | None,
        typer.Option("--correct/--not-correct", help="Only with a correct program, or only without one."),
    ] = None,
    sort: Annotated[
        str,
        typer.Option(
            metavar="name|task|policy|time|ratio|started",
            help="In what order. time: the fastest first, measured before modelled; ratio: the largest "
            "first; started: the latest first.",
        ),
    ] = "name",
    json: options.JsonOption = False,
) -> ExitCode:
    """List the runs of a folder, the unfinished and the broken ones too.

    What has not changed since the last list is not read again.
    """
    from warpsmith.agent.runs.record import RUNS
    from warpsmith.core import UsageError
    from warpsmith.report.index import default_path, list_entries
    from warpsmith.report.listing import Wanted
    from warpsmith.report.terminal import runs_table

    console = Console(is_json=json)
    wanted = Wanted(task=task, policy=policy, state=state, is_correct=correct, order=sort)
    if folder is not None and not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; name the one that holds the runs")
    place = folder or RUNS
    entries = list_entries(place, default_path()) if place.is_dir() else ()
    chosen = wanted.of(entries)
    if chosen:
        console.say(runs_table(chosen))
    elif entries:
        console.say(f"none of the {len(entries)} runs in {place} is like that")
    else:
        console.say(f"no runs in {place}; make one: warpsmith optimize TASK")
    console.document({"command": "runs list", "exit_code": 0, "runs": [entry_data(one) for one in chosen]})
    return ExitCode.OK


SHOW_EXAMPLES = (
    "warpsmith runs show runs/2030-01-31-rmsnorm_gelu-1",
    "warpsmith runs show RUN --json | jq '.trajectory.turns[].did'",
)


def show(
    folder: options.RunArgument,
    json: options.JsonOption = False,
) -> ExitCode:
    """Show one run: its table, what was done and spent turn by turn, and where the files are."""
    from warpsmith.agent.events import in_effect
    from warpsmith.agent.team.citing import citation_text, citations
    from warpsmith.core import UsageError
    from warpsmith.report.attempts import attempts_of, spent_on
    from warpsmith.report.plain import printable
    from warpsmith.report.runs import BrokenRun, read_lines, read_run
    from warpsmith.report.spending import ledger_rows
    from warpsmith.report.turns import summarize

    console = Console(is_json=json)
    run = read_run(folder)
    if isinstance(run, BrokenRun):
        raise UsageError(f"{folder} holds no readable run: {run.reason}")
    lines = tuple(read_lines(folder))
    trajectory, ledger = summarize(lines), ledger_rows(lines)
    cited = citations(in_effect(line.event for line in lines if line.event is not None))
    _say(console, run, trajectory, ledger)
    console.say(*(printable(citation_text(one)) for one in cited))
    console.document(
        {
            "command": "runs show",
            "exit_code": 0,
            **_run_data(run),
            "cost": spent_on(run),
            "ledger": ledger,
            "attempts": [entry_data(attempt) for attempt in attempts_of(run.folder)],
            "environment": run.started.environment,
            "trajectory": trajectory,
            "citations": cited,
        }
    )
    return ExitCode.OK


def _say(console: Console, run: "Run", trajectory: "TrajectorySummary", ledger: "tuple[Row, ...]") -> None:
    from warpsmith.agent.runs.ledger import cost_text, summary_lines
    from warpsmith.report.attempts import attempts_of, spent_on
    from warpsmith.report.plain import printable
    from warpsmith.report.terminal import VerdictTable, attempts_table, turns_table
    from warpsmith.report.verdicts import evidence_text

    num_inherited = 0 if run.forked is None else run.forked.turn
    console.say(VerdictTable(run.started.task_id, run.verdict))
    if run.verdict is not None:
        console.say(evidence_text(run.verdict))
    if trajectory.turns:
        console.say("", turns_table(trajectory.turns, num_inherited))
    if attempts := attempts_of(run.folder):
        digest = None if run.outcome is None else run.outcome.candidate_digest
        console.say("", attempts_table(attempts, digest), "", f"spent: {cost_text(spent_on(run))}")
    console.say("", *summary_lines(ledger))
    console.say(*(printable(line) for line in _fate(run, trajectory)))
    for path in sorted(run.folder.iterdir()):
        if not path.name.startswith("."):
            console.say(printable(f"  {path}{'/' if path.is_dir() else ''}"))


def _fate(run: "Run", trajectory: "TrajectorySummary") -> Iterator[str]:
    """Where it comes from, how it ended, and what happened to it."""
    if run.forked is not None:
        yield f"forked from {run.forked.parent}, after turn {run.forked.turn}"
    yield f"state: {run.state.value}"
    if trajectory.num_resumed:
        yield f"resumed {_times(trajectory.num_resumed)}"
    if trajectory.aborted is not None:
        yield f"it broke off: {trajectory.aborted}"
    if trajectory.num_damaged_lines:
        yield f"damaged lines in its trajectory: {trajectory.num_damaged_lines}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _run_data(run: "Run") -> dict[str, Any]:
    """A run for a script."""
    outcome = run.outcome
    return {
        "folder": run.folder,
        "state": run.state,
        "task_id": run.started.task_id,
        "policy": run.started.policy,
        "device": run.started.device,
        "started_at": run.started_at,
        "forked": run.forked,
        "stop": None if outcome is None else outcome.stop,
        "candidate_digest": None if outcome is None else outcome.candidate_digest,
        **verdict_data(run.verdict),
    }


DIFF_EXAMPLES = (
    "warpsmith runs diff runs/2030-01-31-rmsnorm_gelu-1 runs/2030-01-31-rmsnorm_gelu-2",
    "warpsmith runs diff A B --json | jq -r '.files[].diff'",
)


def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="A run's folder.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another's.")],
    json: options.JsonOption = False,
) -> ExitCode:
    """Compare two runs: code, verdicts, what these depend on, and what was spent.

    Says first what keeps them from being compared: another task, another GPU, a time that is modelled.
    """
    from warpsmith.report.diff import diff_runs
    from warpsmith.report.sides import side_by_side

    console = Console(is_json=json)
    found = diff_runs(a, b)
    console.say(*side_by_side(found))
    console.document(
        {
            "command": "runs diff",
            "exit_code": 0,
            "is_same_task": found.is_same_task,
            "warnings": found.warnings,
            "a": _side_data(found.a),
            "b": _side_data(found.b),
            "files": [{"path": file.path, "diff": file.diff} for file in found.files],
            "environment": {row.name: {"a": row.a, "b": row.b} for row in found.environment},
        }
    )
    return ExitCode.OK


def _side_data(side: "Side") -> dict[str, Any]:
    return {**_run_data(side.run), "cost": side.cost, "num_turns": side.num_turns}
