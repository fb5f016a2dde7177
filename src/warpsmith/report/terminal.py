"""Verdicts and runs as rich tables. Pure: nouns in, renderables out; the console decides colour and width."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from warpsmith.core import Implausible, KernelResources, NotRunnable, Passed, Timing, Verdict
from warpsmith.report.figures import (
    NOTHING,
    bytes_text,
    floor_text,
    seconds_text,
    speedup_text,
    timing_text,
)
from warpsmith.report.plain import one_line, printable
from warpsmith.report.runs import BrokenRun, Run, RunState
from warpsmith.report.turns import TurnSummary, counted
from warpsmith.report.verdicts import verdict_text

HEADINGS = ("task", "verdict", "eager", "torch.compile", "ours", "ratio", "over floor")
UNBOUNDED = 10_000  # wider than any terminal


class VerdictTable:
    """What a run ends with: task, verdict, three times, ratio, time over the floor.

    One line under its headings where there is room for it, else a line each.
    """

    def __init__(self, task_id: str, verdict: Verdict | None) -> None:
        timing = verdict.timing if isinstance(verdict, Passed) else None
        self._cells = (Text(printable(task_id)), verdict_cell(verdict), *_timing_cells(timing))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = _table(*HEADINGS)
        table.add_row(*self._cells)
        if console.measure(table, options=options.update(width=UNBOUNDED)).maximum > options.max_width:
            table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
            for heading, cell in zip(HEADINGS, self._cells, strict=True):
                table.add_row(Text(heading, style="bold"), cell)
        yield table


def verdict_cell(verdict: Verdict | None) -> Text:
    """The verdict's short phrase, green for good, yellow for correct but not faster, red for the rest."""
    if verdict is None:
        return Text("nothing correct found", style="red")
    return Text(verdict_text(verdict), style=_style(verdict))


def kernels_table(resources: Iterable[KernelResources]) -> Table:
    """What the compiler reports of each kernel."""
    table = _table("kernel", "arch", "registers", "spills", "shared", "stack")
    for kernel in resources:
        sizes = (kernel.spill_bytes, kernel.shared_bytes, kernel.stack_bytes)
        cells = (kernel.kernel, kernel.arch, str(kernel.registers), *map(bytes_text, sizes))
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def runs_table(runs: Iterable[Run | BrokenRun]) -> Table:
    """All runs of a folder, a broken one with what is wrong with it."""
    table = _table("run", "task", "verdict", "ours", "ratio", "device", "started")
    for run in runs:
        name = Text(printable(run.folder.name or str(run.folder)))
        if isinstance(run, BrokenRun):
            table.add_row(name, Text(NOTHING), Text(f"broken: {one_line(run.reason, 80)}", style="red"))
        else:
            table.add_row(name, *_run_cells(run))
    return table


def turns_table(turns: Iterable[TurnSummary]) -> Table:
    """What was done, a line a turn."""
    table = _table("turn", "said", "did", "outcome", "took")
    for number, turn in enumerate(turns, start=1):
        outcome = Text(NOTHING) if turn.verdict is None else verdict_cell(turn.verdict)
        did = one_line(counted(turn.did), 80) or NOTHING
        took = seconds_text(turn.cost.wall_s)
        table.add_row(
            Text(str(number)), Text(one_line(turn.said, 70) or NOTHING), Text(did), outcome, Text(took)
        )
    return table


def _run_cells(run: Run) -> list[Text]:
    timing = run.verdict.timing if isinstance(run.verdict, Passed) else None
    ours = NOTHING if timing is None else timing_text(timing, timing.candidate.median_us)
    ratio = NOTHING if timing is None else speedup_text(timing, timing.best_baseline)
    verdict = verdict_cell(run.verdict)
    if run.state is not RunState.FINISHED:
        verdict.append(f" ({run.state.value})", style="yellow")
    started = run.started_at[:16].replace("T", " ")
    rest = (Text(printable(cell)) for cell in (ours, ratio, run.started.device, started))
    return [Text(printable(run.started.task_id)), verdict, *rest]


def _timing_cells(timing: Timing | None) -> list[Text]:
    if timing is None:
        return [Text(NOTHING)] * 5
    compiled = None if timing.compile is None else timing.compile.median_us
    times = [
        timing_text(timing, time) for time in (timing.eager.median_us, compiled, timing.candidate.median_us)
    ]
    return [Text(cell) for cell in (*times, speedup_text(timing, timing.best_baseline), floor_text(timing))]


def _style(verdict: Verdict) -> str:
    if isinstance(verdict, Passed):
        return "green" if verdict.timing is None or verdict.timing.is_fast else "yellow"
    return "yellow" if isinstance(verdict, Implausible | NotRunnable) else "red"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
