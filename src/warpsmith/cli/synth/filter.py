"""`warpsmith synth filter`: which composed tasks are worth judging by, and whether that holds twice."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.synth.leaving import DEFAULT, FolderOption, about, write_json
from warpsmith.core import UsageError
from warpsmith.report.synth.folder import Folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warpsmith.report.synth.records import Rechecking
    from warpsmith.tasks.synth.base import Made
    from warpsmith.tasks.synth.filters import Event, FilterConfig, Funnel

EXAMPLES = (
    "warpsmith synth filter --device cuda --workers 16",
    "warpsmith synth filter --device cpu --min-ms 0.01 --json | jq .rejected",
    "warpsmith synth filter --device cuda --recheck 100 --seed 1",
)


def filter_(
    *,
    folder: FolderOption = DEFAULT,
    workers: Annotated[int, typer.Option(min=1, help="Tasks looked at side by side.")] = 2,
    min_ms: Annotated[float, typer.Option(help="Of eager's time on the device.")] = 1.0,
    max_ms: Annotated[float, typer.Option(help="Likewise.")] = 100.0,
    recheck: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Filter nothing new, but N of the kept tasks once more, and say how many pass again.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Draws the tasks of --recheck.")] = 0,
    device: options.DeviceOption = "auto",
    gpu: options.GpuOption = None,
    sandbox: options.SandboxOption = "auto",
    json: options.JsonOption = False,
) -> ExitCode:
    """Run each composed task in a process of its own, and keep those that are worth judging by.

    In turn: it is Python, runs, compiles, answers other inputs too, is deterministic, is told from answers
    that compute nothing, passes the audit, answers the same when compiled, and takes neither too little nor
    too much time. A run that was killed goes on where it was. Writes filtered/tasks.parquet, and funnel.json
    with a reason for every rejection.

    With --recheck neither is touched: what was found is written to recheck.json, and the exit code is 0
    however many pass.
    """
    from warpsmith.device import select_device
    from warpsmith.sandbox import pick
    from warpsmith.tasks.synth.filters import Band, Checks, FilterConfig

    console = Console(is_json=json)
    config = FilterConfig(
        device=select_device(device, None, gpu),
        sandbox=pick(sandbox),
        workers=workers,
        checks=Checks(band=Band(least_us=1e3 * min_ms, most_us=1e3 * max_ms)),
    )
    if recheck is not None:
        return _recheck(console, Folder(folder), config, Draw(n=recheck, seed=seed))
    return _filter(console, Folder(folder), config)


def _filter(console: Console, folder: Folder, config: "FilterConfig") -> ExitCode:
    from warpsmith.report.synth.records import Filtering, as_written
    from warpsmith.tasks.store import Store
    from warpsmith.tasks.synth.filters import filtered
    from warpsmith.tasks.synth.filters.config import VERSION

    rows = list(Store(folder.composed).rows())
    console.warn(config.sandbox.warning)
    with console.busy(f"filtering {len(rows)} tasks"):
        funnel = filtered([row.task for row in rows], config, folder.filter_state, _teller(console))
    store = Store(folder.filtered)
    passed = {"warpsmith synth filter": f"{VERSION}"}
    written = store.write(_kept(rows, funnel), about("filtered", config.device.name, passed))
    found = as_written(Filtering.of(funnel, device=config.device.name, band=config.checks.band))
    write_json(folder.funnel, found)
    console.say(*(f"  {count:6d}  {reason}" for reason, count in found["by_reason"].items()))
    console.say(f"{written.num_rows} of {len(rows)} are kept: {store.path}; reasons: {folder.funnel}")
    console.document({"command": "synth filter", "exit_code": 0, "store": store.path, **found})
    return ExitCode.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """How many of the kept tasks are looked at again, and which."""

    n: int
    seed: int

    def of(self, rows: "list[Made]") -> "list[Made]":
        """All of them, if there are no more than `n`. The same tasks in another order give the same."""
        import random

        drawn = sorted(rows, key=lambda row: row.task.digest)
        return random.Random(self.seed).sample(drawn, min(self.n, len(drawn)))


def _recheck(console: Console, folder: Folder, config: "FilterConfig", draw: Draw) -> ExitCode:
    from tempfile import TemporaryDirectory

    from warpsmith.report.synth.records import Rechecking, as_written, is_as_before
    from warpsmith.tasks.store import Store
    from warpsmith.tasks.synth.filters import filtered

    rows = list(Store(folder.filtered).rows())
    if not rows:
        raise UsageError(f"{folder.filtered} holds no tasks to filter once more")
    drawn = draw.of(rows)
    console.warn(config.sandbox.warning)
    is_same = is_as_before(folder.filter_state, config)
    if not is_same:
        console.warn("the tasks were kept by other checks, or on another device, than these")
    with TemporaryDirectory() as state, console.busy(f"filtering {len(drawn)} of {len(rows)} kept tasks"):
        funnel = filtered([row.task for row in drawn], config, Path(state), _teller(console))
    record = Rechecking.of(funnel, device=config.device.name, seed=draw.seed, is_as_before=is_same)
    found = as_written(record)
    write_json(folder.recheck, found)
    console.say(*_said(record))
    console.say(f"{record.num_kept} of {record.num_tasks} pass again: {folder.recheck}")
    console.document({"command": "synth filter", "exit_code": 0, "recheck": folder.recheck, **found})
    return ExitCode.OK


def _said(record: "Rechecking") -> "Iterator[str]":
    """A line for each task that does not pass again."""
    from warpsmith.report.plain import one_line

    for rejected in record.rejected:
        yield one_line(f"{rejected.task_id}: {rejected.reason} ({rejected.evidence})")
    for undecided in record.undecided:
        yield one_line(f"{undecided.task_id}: not decided ({undecided.why})")


def _kept(rows: "list[Made]", funnel: "Funnel") -> "Iterator[Made]":
    from warpsmith.tasks.synth.filters import facts_as_text

    facts = {kept.digest: kept.facts for kept in funnel.kept}
    for row in rows:
        if row.task.digest in facts:
            yield replace(row, facts={**row.facts, **facts_as_text(facts[row.task.digest])})


def _teller(console: Console) -> "Callable[[Event], None]":
    from warpsmith.tasks.synth.filters import Decided, Rejected

    def tell(event: "Event") -> None:
        if isinstance(event, Decided) and isinstance(event.outcome, Rejected):
            outcome = event.outcome
            console.note(f"  {event.num_done}: {outcome.task_id:.60} rejected: {outcome.reason}")

    return tell
