"""A comparison of two runs for a terminal: warnings, code, then verdicts, cost and environment in columns."""

from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from warpsmith.report.diff import FileDiff, Row, RunsDiff, Side
from warpsmith.report.plain import printable

STYLES = {"@": "cyan", "-": "red", "+": "green"}
NUM_HEADINGS = 2  # lines of a diff that name the files; a removed line may begin with dashes too


def side_by_side(found: RunsDiff) -> Iterator[RenderableType]:
    """What keeps one from comparing comes first."""
    for warning in found.warnings:
        yield Text(printable(warning), style="yellow")
    yield from _code(found)
    yield Text("")
    yield rows_table(_names(found), _all_rows(found))


def file_text(file: FileDiff) -> Text:
    """A unified diff in the colours that one is used to."""
    text = Text()
    for number, line in enumerate(printable(file.diff).split("\n")):
        text.append(f"{line}\n", style="bold" if number < NUM_HEADINGS else STYLES.get(line[:1], ""))
    return text


def rows_table(names: tuple[str, str], rows: Iterable[Row]) -> Table:
    """What differs is bold."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("", *names):
        table.add_column(Text(printable(column)), overflow="fold")
    for row in rows:
        style = "bold" if row.a != row.b else ""
        cells = (Text(printable(cell), style=style) for cell in (row.a, row.b))
        table.add_row(Text(printable(row.name)), *cells)
    return table


def _code(found: RunsDiff) -> Iterator[Text]:
    for side in (found.a, found.b):
        if side.program is None:
            yield Text(printable(f"{side.run.folder} has no program that passed"), style="yellow")
    if found.a.program is not None and found.a.program == found.b.program:
        yield Text("the programs are the same")
    yield from map(file_text, found.files)


def _all_rows(found: RunsDiff) -> tuple[Row, ...]:
    tasks = (found.a.run.started.task_id, found.b.run.started.task_id)
    return (Row(name="task", a=tasks[0], b=tasks[1]), *found.verdict, *found.cost, *found.environment)


def _names(found: RunsDiff) -> tuple[str, str]:
    """Folder names, or whole paths where the names are alike."""
    a, b = (_name(side) for side in (found.a, found.b))
    return (a, b) if a != b else (str(found.a.run.folder), str(found.b.run.folder))


def _name(side: Side) -> str:
    return side.run.folder.name or str(side.run.folder)
