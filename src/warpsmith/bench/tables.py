"""A bench as text and rich tables: totals, what was published beside them, and how figures are to be read."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from warpsmith.bench.comparison import Comparison, Pair
from warpsmith.bench.plan import Plan
from warpsmith.bench.published import Published, Study, beside, studies
from warpsmith.bench.record import TaskRecord
from warpsmith.bench.rows import outcome_text
from warpsmith.bench.totals import Against, Share, Totals
from warpsmith.core import Provenance, Ratio, Tolerance
from warpsmith.report.figures import NOTHING, ratio_text, seconds_text, timing_text
from warpsmith.report.plain import one_line, printable

COUNTED = ("tasks", "done", "ours", "refused", "passed")
MEASURED = (*COUNTED, ">5% eager", ">5% compile", "× eager", "× compile", "no room")
MODELLED = (*COUNTED, "modelled fast", "modelled over floor")
WITHOUT = "without degenerate"
UNBOUNDED = 10_000  # wider than any terminal
MAX_DECLINED = 6


def headings(lines: Sequence[Totals]) -> tuple[str, ...]:
    """The columns beside the name; for modelled times there is none for a speed-up."""
    return MODELLED if _is_modelled(lines) else MEASURED


def totals_cells(
    lines: Sequence[Totals], *, with_intervals: bool
) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Name, cells, and whether the line is somebody else's; what was published follows its level.

    Means always have their intervals; shares do `with_intervals`.
    """
    share_text = _long_share if with_intervals else _short_share
    is_modelled = _is_modelled(lines)
    groups = [line.name for line in lines if line.has_degenerate]
    for line in lines:
        name = line.name if line.has_degenerate else f"  {WITHOUT}"
        numbers = (line.num_tasks, line.num_done, line.num_ours, line.num_refused)
        counts = (*map(str, numbers), share_text(line.passed))
        speeds = _modelled_cells(line) if is_modelled else _speed_cells(line.eager, line.compile, share_text)
        yield name, (*counts, *speeds), False
        if not line.has_degenerate and not is_modelled:
            for other in beside(groups, line.name):
                yield f"  {other.system}", _published_cells(other), True


class TotalsTable:
    """A line for each of `lines` where there is room for it, else a paragraph."""

    def __init__(self, lines: Sequence[Totals], *, with_published: bool) -> None:
        self._headings = headings(lines)
        found = totals_cells(lines, with_intervals=False)
        self._rows = [
            (name, cells) for name, cells, is_published in found if with_published or not is_published
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = _table("", *self._headings, gap=1)
        for column in table.columns[1:]:
            column.justify = "right"
        for name, cells in self._rows:
            style = "dim" if name.startswith(" ") else ""
            table.add_row(Text(printable(name)), *map(Text, cells), style=style)
        needed = console.measure(table, options=options.update(width=UNBOUNDED)).maximum
        if needed <= options.max_width:
            yield table
            return
        for name, cells in self._rows:
            named = [
                f"{heading}: {cell}"
                for heading, cell in zip(self._headings, cells, strict=True)
                if cell != NOTHING
            ]
            yield Text(f"{name}. {'; '.join(named)}", style="dim" if name.startswith(" ") else "")


def notes(plan: Plan, lines: Sequence[Totals], *, with_published: bool) -> list[str]:
    """How to read the table: what was run, how it is counted, and what differs from what others published."""
    found = [_what_text(plan), *_counting(lines)]
    if with_published and not _is_modelled(lines):
        groups = [line.name for line in lines if line.has_degenerate]
        shown = [other for group in groups for other in beside(groups, group)]
        if shown:
            found.append(_differs_text(plan))
            found += [study_text(study) for study in studies(shown)]
    return found


def study_text(study: Study) -> str:
    return (
        f"{study.name} ({study.source}): GPU {study.gpu}; tasks {study.tasks}; sizes {study.sizes}; "
        f"tolerance {study.tolerance}; faster: {study.faster}; mean of speed-ups: {study.mean}; times: "
        f"{study.timing}"
    )


def comparison_tables(found: Comparison) -> Iterator[str | Table]:
    """A line of counts, then each task that changed."""
    yield (
        f"{len(found.gained)} gained, {len(found.lost)} lost, {len(found.faster)} faster, "
        f"{len(found.slower)} slower, {len(found.level)} level, {len(found.failed)} failed in both, "
        f"{len(found.untold)} cannot be told, {len(found.changed)} are other tasks now, "
        f"{len(found.only_before)} only before, {len(found.only_after)} only after"
    )
    changes = (
        ("gained", found.gained),
        ("lost", found.lost),
        ("faster", found.faster),
        ("slower", found.slower),
        ("other task", found.changed),
    )
    if any(pairs for _, pairs in changes):
        table = _table("change", "task", "before", "after")
        for change, pairs in changes:
            for pair in pairs:
                table.add_row(change, *_pair_cells(pair))
        yield table


def speed_text(record: TaskRecord) -> str:
    """The ratio against eager with its interval; a modelled time stands as a time and says so."""
    timing = record.timing
    if timing is None:
        return outcome_text(record)
    if timing.provenance is Provenance.MODELLED:
        return timing_text(timing, timing.candidate.median_us)
    return f"{ratio_text(timing.against_eager)} eager"


def _is_modelled(lines: Iterable[Totals]) -> bool:
    return any(line.provenance is Provenance.MODELLED for line in lines)


def _short_share(share: Share) -> str:
    """'62/100 62%'."""
    return f"{share.count}/{share.num} {share.value:.0%}" if share.num else NOTHING


def _long_share(share: Share) -> str:
    """'62/100 62% [52, 71]'."""
    interval = f"[{100 * share.low:.0f}, {100 * share.high:.0f}]"
    return f"{_short_share(share)} {interval}" if share.num else NOTHING


def _speed_cells(
    eager: Against | None, compiled: Against | None, share_text: Callable[[Share], str]
) -> tuple[str, ...]:
    both = (eager, compiled)
    faster = [NOTHING if one is None else share_text(one.faster) for one in both]
    means = [_mean_text(None if one is None else one.mean) for one in both]
    room = " · ".join(NOTHING if one is None else f"{one.num_no_room}/{one.num_measured}" for one in both)
    return (*faster, *means, room)


def _modelled_cells(line: Totals) -> tuple[str, ...]:
    fast = NOTHING if line.num_modelled_fast is None else f"{line.num_modelled_fast}/{line.num_done}"
    return fast, _mean_text(line.over_floor)


def _published_cells(other: Published) -> tuple[str, ...]:
    faster = [_percent(share, other.study.margin) for share in (other.faster_eager, other.faster_compile)]
    times = (other.times_eager, other.times_compile)
    return (
        str(other.num_tasks),
        *[NOTHING] * 3,
        _percent(other.passed),
        *faster,
        *(NOTHING if time is None else f"{time:.2f}×" for time in times),
        NOTHING,
    )


def _percent(share: float | None, margin: str = "") -> str:
    return NOTHING if share is None else f"{100 * share:.3g} %{margin}"


def _mean_text(mean: Ratio | None) -> str:
    return NOTHING if mean is None else ratio_text(mean)


def _what_text(plan: Plan) -> str:
    sizes = "the suite's own sizes"
    if plan.num_resized:
        sizes = f"{plan.num_resized} of {len(plan.names)} tasks at other sizes than the suite's"
    return (
        f"{plan.suite}, {plan.mode} mode, policy {plan.policy}, on {plan.device}; {sizes}; errors within "
        f"{Tolerance().times_reference:g} times the reference's own against float64, "
        f"{plan.settings.get('precision')} precision"
    )


def _counting(lines: Sequence[Totals]) -> Iterator[str]:
    overall = next(line for line in reversed(lines) if line.has_degenerate)
    if overall.num_done < overall.num_tasks:
        yield f"not finished: {overall.num_done} of {overall.num_tasks} tasks are done, and only they count"
    yield (
        "shares are of all that is done, with what we failed on (ours) and what the judge refused counted as "
        f"not passed; {overall.num_degenerate} degenerate by the audit, {overall.num_unaudited} not audited"
    )
    if _is_modelled(lines):
        yield (
            "all times are modelled, not measured: no speed-up follows from them. Modelled fast: below "
            "eager's model and not above torch.compile's, which is modelled as perfect fusion"
        )
    else:
        yield from _measured_notes(overall)
    if overall.num_by_shortcut:
        yield (
            f"{overall.num_by_shortcut} of the passed do less arithmetic than their task, by an algebraic "
            "shortcut that the page names"
        )
    if overall.declined:
        most = list(overall.declined.items())[:MAX_DECLINED]
        yield f"declined most: {', '.join(f'{operator} ({count})' for operator, count in most)}"
    yield f"spent: {seconds_text(overall.gpu_s)} of GPU, {seconds_text(overall.wall_s)} of all episodes"


def _measured_notes(overall: Totals) -> Iterator[str]:
    yield (
        ">5%: CUDA Agent's (t0 - t) / t0 > 5 %, by the centre of the ratio, with its whole 95 % interval "
        "above 1"
    )
    sure = [
        f"{against.num_surely} of {against.faster.count} against {name}"
        for name, against in (("eager", overall.eager), ("torch.compile", overall.compile))
        if against is not None
    ]
    yield f"the whole interval lies beyond 5 % for {' and '.join(sure)}"
    yield (
        "×: geometric mean over all that passed and were measured, slower ones too, with a bootstrap over "
        f"tasks; {overall.num_unsettled} measurements did not settle: they are in it, and never faster"
    )
    yield (
        "no room: tasks (against eager / torch.compile) whose floor, the speed of light, itself saves no "
        "more than 5 %: nobody can honestly be faster there. Known only of what was measured"
    )


def _differs_text(plan: Plan) -> str:
    return (
        f"published lines are not of this machine or judge. Here: {plan.device}, cold cache, fresh inputs, "
        "paired with eager in random order, medians; differing there:"
    )


def _pair_cells(pair: Pair) -> tuple[Text, Text, Text]:
    before, after = (speed_text(record) for record in (pair.before, pair.after))
    cells = (pair.after.name.task_id, before, after)
    task, old, new = (Text(one_line(cell, 100)) for cell in cells)
    return task, old, new


def _table(*columns: str, gap: int = 2) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
