"""`warpsmith synth decontaminate`: tasks that are a benchmark's, or one another's, are dropped."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.synth.leaving import DEFAULT, FolderOption, title, write_json
from warpsmith.report.synth.folder import Folder

if TYPE_CHECKING:
    from warpsmith.core import Task
    from warpsmith.report.synth.records import Benchmark
    from warpsmith.tasks.store import About

EXAMPLES = (
    "warpsmith synth decontaminate --against kernelbench=KernelBench",
    "warpsmith synth decontaminate --against jsonl=held-out.jsonl --threshold 0.8",
)


def decontaminate(
    *,
    folder: FolderOption = DEFAULT,
    against: Annotated[
        list[str],
        typer.Option(metavar="SUITE=PATH", help="kernelbench, ops6k or jsonl, and where it is. Repeatable."),
    ],
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Similarity from which on a task goes.")
    ] = 0.9,
    validation: Annotated[float, typer.Option(help="Share of tasks to choose checkpoints by.")] = 0.05,
    test: Annotated[float, typer.Option(help="Share of tasks to test with.")] = 0.10,
    seed: Annotated[int, typer.Option(min=0, help="Deals tasks out to train, validation and test.")] = 0,
    json: options.JsonOption = False,
) -> ExitCode:
    """Drop the filtered tasks that are too close to a benchmark's, or to one another.

    Compared are the tensor graphs that models compute, their normalised tokens, and their exact hash. What is
    kept is split, and what is alike is on one side. Writes clean/tasks.parquet, and similarity.json with the
    histogram, the closest pairs and all that was dropped.
    """
    from warpsmith.report.synth.records import Comparison, as_written
    from warpsmith.tasks.store import Store
    from warpsmith.tasks.synth.similarity import (
        Splitting,
        Thresholds,
        decontaminated,
        divided,
        without_near_duplicates,
    )

    console = Console(is_json=json)
    steps = Folder(folder)
    limits = Thresholds(structure=threshold, tokens=threshold)
    splitting = Splitting(validation=validation, test=test, seed=seed, thresholds=limits)
    benchmarks, held = _benchmarks(console, against)
    rows = {row.task.digest: row for row in Store(steps.filtered).rows()}
    with console.busy(f"comparing {len(rows)} tasks with {len(held)}"):
        beside = decontaminated([row.task for row in rows.values()], held, limits)
        alone = without_near_duplicates(beside.kept, limits)
        sides = divided((rows[task.digest] for task in alone.kept), splitting)
    store = Store(steps.clean)
    store.write(sides.rows, _about(Store(steps.filtered).about(), threshold, benchmarks))
    found = {
        "benchmarks": benchmarks,
        "against": as_written(Comparison.of(beside)),
        "within": as_written(Comparison.of(alone)),
    }
    write_json(steps.similarity, found)
    console.say(
        f"{len(beside.dropped)} are too close to a benchmark's, {len(alone.dropped)} to another of the set; "
        f"{len(alone.kept)} of {len(rows)} are kept: {store.path}; details: {steps.similarity}"
    )
    console.document({"command": "synth decontaminate", "exit_code": 0, "store": store.path, **found})
    return ExitCode.OK


def _about(before: "About", threshold: float, benchmarks: "list[Benchmark]") -> "About":
    """What was said of the filtered tasks, and against what they were held since."""
    whom = ", ".join(f"{one.suite} ({one.num_tasks})" for one in benchmarks)
    filters = {**before.filters, "warpsmith synth decontaminate": f"below {threshold:g} to {whom}"}
    return replace(before, title=title("decontaminated"), filters=filters)


def _benchmarks(console: Console, against: list[str]) -> "tuple[list[Benchmark], list[Task]]":
    """Each SUITE=PATH read, and all their tasks. Raises UsageError for a suite or a file that is none."""
    from warpsmith.report.synth.records import Benchmark
    from warpsmith.tasks.suites import imported, suite

    found: list[Benchmark] = []
    held: list[Task] = []
    for text in against:
        name, _, path = text.partition("=")
        read = imported(suite(name), Path(path))
        found.append(Benchmark(suite=name, num_tasks=len(read.made), num_broken=len(read.broken)))
        held += [made.task for made in read.made]
        for broken in read.broken[:1]:
            console.warn(
                f"nothing is compared with {len(read.broken)} rows of {name} that are no tasks, such as "
                f"{broken.where}: {broken.reason}"
            )
    return found, held
