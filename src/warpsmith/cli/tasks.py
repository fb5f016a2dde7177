"""`warpsmith tasks`: other people's task sets into a store of one's own, and back; and a part of one."""

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


SAMPLE_EXAMPLES = (
    "warpsmith tasks sample synth/clean/tasks.parquet sample/tasks.parquet --n 200",
    "warpsmith tasks sample synth/clean/tasks.parquet other/tasks.parquet --n 200 --seed 1",
)


def sample(
    store: StoreArgument,
    out: Annotated[Path, typer.Argument(metavar="OUT.parquet", help="Where the sample goes.")],
    n: Annotated[int, typer.Option("--n", min=1, help="How many.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="The same one takes the same tasks.")] = 0,
    json: options.JsonOption = False,
) -> ExitCode:
    """Take some of a store's tasks, depths and their curricula in proportion, into a store with a card.

    Replaces nothing.
    """
    from dataclasses import replace

    from warpsmith.tasks.store import Store, sampled
    from warpsmith.tasks.suites.base import make_room

    console = Console(is_json=json)
    whole = Store(store)
    rows = list(whole.rows())
    taken = sampled(rows, n, seed)
    make_room(out)
    about = whole.about()
    how = f"{n} of {len(rows)} tasks, depths and their curricula in proportion, drawn with seed {seed}."
    words = f"{about.description} A sample: {how}".strip()
    written = Store(out).write(taken, replace(about, description=words))
    console.say(f"{written.num_rows} of {len(rows)} tasks: {out}")
    console.document(
        {
            "command": "tasks sample",
            "exit_code": 0,
            "store": out,
            "num_tasks": written.num_rows,
            "num_of": len(rows),
            "seed": seed,
        }
    )
    return ExitCode.OK
