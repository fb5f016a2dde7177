"""`warpsmith synth crawl`: which operators there are to make tasks of."""

from typing import Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.synth.leaving import DEFAULT, FolderOption, make_room
from warpsmith.report.synth.folder import Folder

EXAMPLES = ("warpsmith synth crawl", "warpsmith synth crawl --library torch --dir my-tasks")


def crawl(
    *,
    folder: FolderOption = DEFAULT,
    library: Annotated[
        list[str] | None,
        typer.Option(metavar="torch|transformers", help="Whose operators. Repeatable. (default: both)"),
    ] = None,
    json: options.JsonOption = False,
) -> ExitCode:
    """Find operators to make tasks of: whatever is installed of torch and transformers, tried by calling it.

    Writes seeds.json, with the reason for each name that is no operator.
    """
    from warpsmith.tasks.synth.seeds import CrawlConfig, seeds, write_seeds

    console = Console(is_json=json)
    path = Folder(folder).seeds
    config = CrawlConfig(libraries=tuple(library)) if library else CrawlConfig()
    with console.busy("trying operators"):
        found = seeds(config)
    make_room(folder)
    write_seeds(found, path)
    reasons = {reason.value: count for reason, count in found.reasons().items()}
    console.say(f"{len(found.seeds)} operators, {len(found.skipped)} names that are none: {path}")
    console.document(
        {
            "command": "synth crawl",
            "exit_code": 0,
            "file": path,
            "num_seeds": len(found.seeds),
            "skipped": reasons,
        }
    )
    return ExitCode.OK
