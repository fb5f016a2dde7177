"""`warpsmith synth report`: what the steps left, as a few lines, one HTML file, or JSON."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.synth.leaving import DEFAULT, FolderOption, make_room, replace_text, write_json
from warpsmith.core import UsageError

if TYPE_CHECKING:
    from warpsmith.report.synth.facts import Facts

EXAMPLES = (
    "warpsmith synth report",
    "warpsmith synth report --dir my-tasks --html my-tasks/report.html",
    "warpsmith synth report --json | jq .facts.times",
)
SUFFIXES = (".html", ".htm")
MARK = '"type": "Facts"'  # with which the JSON of a report begins


def report(
    *,
    folder: FolderOption = DEFAULT,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Also write it as a page, and FILE.json beside it."),
    ] = None,
    json: options.JsonOption = False,
) -> ExitCode:
    """Say what became of the tasks: funnel, composition, times, similarity, and where all that comes from.

    Reads what the other verbs left; a step that has not been run is named, and the rest is told all the same.
    """
    from warpsmith.report.synth.gather import facts_of
    from warpsmith.report.synth.terminal import short

    console = Console(is_json=json)
    pages = None if html is None else _pages(html)
    with console.busy(f"reading {folder}"):
        facts = facts_of(folder)
    if pages is not None:
        _write(facts, *pages)
    console.say(*short(facts))
    console.say(*([] if pages is None else ["", f"the whole of it: {pages[0]}, {pages[1]}"]))
    console.document({"command": "synth report", "exit_code": 0, "html": html, "facts": facts})
    return ExitCode.OK


def _pages(html: Path) -> tuple[Path, Path]:
    """Where page and JSON go. Raises UsageError if that cannot be, or would replace another's file."""
    beside = html.with_suffix(".json")
    if html.suffix not in SUFFIXES or html.is_dir():
        raise UsageError(f"--html takes a file that ends with .html, not {str(html)!r:.200}")
    if beside.exists() and not _is_ours(beside):
        raise UsageError(f"{beside} is not a report's and would be replaced; give the page another name")
    make_room(html.parent)
    return html, beside


def _is_ours(beside: Path) -> bool:
    with beside.open(encoding="utf-8", errors="replace") as file:
        return MARK in file.read(100)


def _write(facts: "Facts", html: Path, beside: Path) -> None:
    from warpsmith.report.synth.page import page

    replace_text(html, page(facts))
    write_json(beside, facts)
