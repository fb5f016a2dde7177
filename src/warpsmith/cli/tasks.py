"""`warpsmith tasks`: other people's task sets into a store of one's own, and back."""

from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode

SuiteArgument = Annotated[str, typer.Argument(metavar="ops6k|kernelbench|jsonl", help="The format.")]
StoreArgument = Annotated[Path, typer.Argument(metavar="STORE.parquet", help="A store.")]
PathArgument = Annotated[Path, typer.Argument(metavar="PATH", help="A file or folder of that format.")]

IMPORT_EXAMPLES = (
    "warpsmith tasks import kernelbench KernelBench kb/tasks.parquet",
    "warpsmith tasks import ops6k data.parquet ops/tasks.parquet --revision 44a734c",
)


def import_(
    suite: SuiteArgument,
    path: PathArgument,
    store: StoreArgument,
    revision: Annotated[str, typer.Option(metavar="COMMIT", help="Kept in each task's provenance.")] = "",
    json: options.JsonOption = False,
) -> ExitCode:
    """Read a task set into a store. A row that is no task is told and left out; nothing is executed."""
    from warpsmith.tasks.store import About, Store
    from warpsmith.tasks.suites import imported
    from warpsmith.tasks.suites import suite as suite_of

    console = Console(is_json=json)
    found = imported(suite_of(suite), path, revision)
    about = About(title=f"Tasks of {suite}", description=f"Imported from {path.name}.")
    written = Store(store).append(found.made, None if store.exists() else about)
    for broken in found.broken:
        console.note(f"  {broken.where}: {broken.reason}")
    console.say(f"{written.num_added} new tasks, {len(found.broken)} rows that are none: {store}")
    console.document(
        {
            "command": "tasks import",
            "exit_code": 0,
            "store": store,
            "num_added": written.num_added,
            "num_tasks": written.num_rows,
            "broken": found.broken,
        }
    )
    return ExitCode.OK


EXPORT_EXAMPLES = (
    "warpsmith tasks export jsonl synth/clean/tasks.parquet tasks.jsonl",
    "warpsmith tasks export kernelbench synth/clean/tasks.parquet OUT",
)


def export(
    suite: SuiteArgument, store: StoreArgument, path: PathArgument, json: options.JsonOption = False
) -> ExitCode:
    """Write a store as others read it. Replaces nothing."""
    from warpsmith.tasks.store import Store
    from warpsmith.tasks.suites import suite as suite_of

    console = Console(is_json=json)
    num_tasks = suite_of(suite).write(path, Store(store).rows())
    console.say(f"{num_tasks} tasks: {path}")
    console.document({"command": "tasks export", "exit_code": 0, "path": path, "num_tasks": num_tasks})
    return ExitCode.OK
