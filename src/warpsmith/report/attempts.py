"""The attempts of a run that had several, side by side: each is a whole run in a folder below its own."""

from pathlib import Path

from warpsmith.agent.attempts.parallel import ATTEMPTS
from warpsmith.core import Cost
from warpsmith.report.listing import Entry, entry_of
from warpsmith.report.runs import Run, RunState, read_lines, read_run, run_folders
from warpsmith.report.spending import ledger_rows, total_of


def attempts_of(folder: Path) -> tuple[Entry, ...]:
    """By number; none if the run in `folder` is a single one."""
    place = folder / ATTEMPTS
    if not place.is_dir():
        return ()
    return tuple(entry_of(read_run(attempt)) for attempt in sorted(run_folders(place), key=_number))


def spent_on(run: Run) -> Cost:
    """All that a run has cost, its attempts' share too, whether it has ended or not."""
    if run.state is RunState.FINISHED and run.outcome is not None:
        return run.outcome.cost
    folders = (run.folder, *(attempt.folder for attempt in attempts_of(run.folder)))
    return sum((total_of(ledger_rows(read_lines(folder))) for folder in folders), Cost())


def _number(folder: Path) -> tuple[int, str]:
    return int(folder.name) if folder.name.isdecimal() else 0, folder.name
