"""A report for the terminal: what one wants to know first, as rich tables and lines."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from warpsmith.report.figures import NOTHING
from warpsmith.report.plain import printable
from warpsmith.report.synth import words
from warpsmith.report.synth.facts import Composition, Facts, Narrowing


def short(facts: Facts) -> Iterator[RenderableType]:
    """The funnel, the mix, times and similarity, a part each; the page has the rest."""
    yield _line(words.summary(facts), "bold")
    for line in (*facts.notes, *words.not_run(facts)):
        yield _line(line, "yellow")
    if facts.narrowings:
        yield Text()
        yield _funnel(facts.narrowings)
    if facts.composition is not None:
        yield Text()
        yield _depths(facts.composition)
    yield Text()
    if facts.times is not None:
        yield _line(f"{words.times_title(facts.times)}: {words.times_text(facts.times)}")
    if facts.likeness is not None:
        yield _line(f"Similarity: {words.likeness_text(facts.likeness)}")
    if facts.recheck is not None:
        yield _line(words.recheck_text(facts.recheck))
    for library in facts.libraries:
        yield _line(
            f"{library.name} {library.version} ({library.licence}): {library.num_operators} operators, "
            f"used by {words.plural(library.num_tasks, 'task')}"
        )


def _line(said: str, style: str = "") -> Text:
    return Text(printable(said), style=style)


def _funnel(narrowings: tuple[Narrowing, ...]) -> Table:
    table = _table("check", "left", "why the others are not")
    for one in narrowings:
        left = f"{one.num_out} of {one.num_in}"
        table.add_row(*(_line(cell) for cell in (one.name, left, words.losses_text(one) or NOTHING)))
    return table


def _depths(composition: Composition) -> Table:
    table = _table("depth", "tasks", "share", "paper")
    for one in composition.by_depth:
        paper = NOTHING if one.paper_share is None else words.percent(one.paper_share)
        table.add_row(*(_line(cell) for cell in (one.name, str(one.num), words.percent(one.share), paper)))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
