"""Verdicts and runs as rich tables. Pure: nouns in, renderables out; the console decides colour and width."""

from collections.abc import Callable, Iterable, Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from warpsmith.core import (
    Cost,
    Implausible,
    KernelResources,
    NotRunnable,
    Passed,
    Provenance,
    Timing,
    Verdict,
)
from warpsmith.report.figures import (
    NOTHING,
    bytes_text,
    floor_text,
    ratio_text,
    seconds_text,
    speedup_text,
    time_text,
    timing_text,
    tokens_text,
    usd_text,
)
from warpsmith.report.listing import Entry
from warpsmith.report.plain import one_line, printable
from warpsmith.report.runs import RunState
from warpsmith.report.turns import TurnSummary, counted
from warpsmith.report.verdicts import verdict_text

HEADINGS = ("task", "verdict", "eager", "torch.compile", "ours", "ratio", "over floor")
NOTHING_FOUND = "nothing correct found"
UNDECIDED = (Implausible.__name__, NotRunnable.__name__)
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
        return Text(NOTHING_FOUND, style="red")
    return Text(verdict_text(verdict), style=_style(verdict))


def kernels_table(resources: Iterable[KernelResources]) -> Table:
    """What the compiler reports of each kernel."""
    table = _table("kernel", "arch", "registers", "spills", "shared", "stack")
    for kernel in resources:
        sizes = (kernel.spill_bytes, kernel.shared_bytes, kernel.stack_bytes)
        cells = (kernel.kernel, kernel.arch, str(kernel.registers), *map(bytes_text, sizes))
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def runs_table(entries: Iterable[Entry]) -> Table:
    """All runs of a folder, a broken one with what is wrong with it."""
    table = _table("run", "task", "policy", "verdict", "ours", "ratio", "device", "started")
    for entry in entries:
        name = Text(printable(entry.folder.name or str(entry.folder)))
        if entry.is_broken:
            broken = Text(f"broken: {one_line(entry.reason, 80)}", style="red")
            table.add_row(name, Text(NOTHING), Text(NOTHING), broken)
        else:
            table.add_row(name, *_entry_cells(entry))
    return table


def attempts_table(attempts: Iterable[Entry], best_digest: str | None) -> Table:
    """A line an attempt; those that found the best program are bold."""
    table = _table("attempt", "policy", "verdict", "ours", "ratio", "turns", "tokens", "USD", "took", "ended")
    for attempt in attempts:
        if attempt.is_broken:
            table.add_row(
                attempt.folder.name, NOTHING, Text(f"broken: {one_line(attempt.reason, 80)}", style="red")
            )
            continue
        _, policy, verdict, ours, ratio, *_ = _entry_cells(attempt)
        cost = attempt.cost or Cost()
        rest = (
            NOTHING if attempt.num_turns is None else str(attempt.num_turns),
            SPENT["tokens"](cost),
            SPENT["USD"](cost),
            NOTHING if attempt.cost is None else seconds_text(cost.wall_s),
            NOTHING if attempt.stop is None else attempt.stop.value,
        )
        is_best = best_digest is not None and attempt.candidate_digest == best_digest
        cells = (Text(printable(attempt.folder.name)), policy, verdict, ours, ratio, *map(Text, rest))
        table.add_row(*cells, style="bold" if is_best else "")
    return table


def turns_table(turns: Sequence[TurnSummary], num_inherited: int = 0) -> Table:
    """What was done and spent, a line a turn; the `num_inherited` turns of another run are dim."""
    spent = [name for name, text in SPENT.items() if any(text(turn.cost) != NOTHING for turn in turns)]
    table = _table("turn", "said", "did", "outcome", *spent, "took")
    for number, turn in enumerate(turns, start=1):
        cells = (
            Text(str(number)),
            Text(one_line(turn.said, 70) or NOTHING),
            Text(one_line(counted(turn.did), 80) or NOTHING),
            Text(NOTHING) if turn.verdict is None else verdict_cell(turn.verdict),
            *(Text(SPENT[name](turn.cost)) for name in spent),
            Text(seconds_text(turn.cost.wall_s)),
        )
        table.add_row(*cells, style="dim" if number <= num_inherited else "")
    return table


def _tokens(cost: Cost) -> str:
    if not cost.prompt_tokens and not cost.completion_tokens:
        return NOTHING
    return f"{tokens_text(cost.prompt_tokens)} + {tokens_text(cost.completion_tokens)}"


SPENT: dict[str, Callable[[Cost], str]] = {  # a column each, where there is anything
    "tokens": _tokens,
    "USD": lambda cost: usd_text(cost.usd) if cost.usd else NOTHING,
    "GPU": lambda cost: seconds_text(cost.gpu_s) if cost.gpu_s else NOTHING,
}


def _entry_cells(entry: Entry) -> list[Text]:
    is_modelled = entry.provenance is Provenance.MODELLED
    ours = NOTHING if entry.candidate_us is None else time_text(entry.candidate_us)
    ratio = NOTHING if entry.ratio is None else ratio_text(entry.ratio)
    verdict = Text(printable(entry.words or NOTHING_FOUND), style=entry_style(entry))
    if entry.state is not RunState.FINISHED:
        verdict.append(f" ({entry.state_text})", style="yellow")
    cells = (
        entry.policy,
        f"{ours} (modelled)" if is_modelled else ours,
        "modelled" if is_modelled else ratio,
        entry.device,
        entry.started_at[:16].replace("T", " "),
    )
    policy, *rest = (Text(printable(cell)) for cell in cells)
    return [Text(printable(entry.task_id)), policy, verdict, *rest]


def entry_style(entry: Entry) -> str:
    """As of the verdict that it sums up."""
    if entry.is_correct:
        return "yellow" if entry.is_fast is False else "green"
    return "yellow" if entry.kind in UNDECIDED else "red"


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
