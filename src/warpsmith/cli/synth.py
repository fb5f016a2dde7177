"""`warpsmith synth`: new tasks by the thousand, in one folder; each step reads what the last one left."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpsmith.cli import asking, options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.core import UsageError

if TYPE_CHECKING:
    from warpsmith.core import Task
    from warpsmith.tasks.store import About
    from warpsmith.tasks.synth.base import Curriculum, Made
    from warpsmith.tasks.synth.compose import Ask, Recipe
    from warpsmith.tasks.synth.filters import Event, Funnel
    from warpsmith.tasks.synth.seeds import Operator
    from warpsmith.tasks.synth.similarity import Decontaminated

SEEDS = "seeds.json"
STATE = "filter"
FUNNEL = "funnel.json"
SIMILARITY = "similarity.json"
COMPOSED, FILTERED, CLEAN = (Path(name) / "tasks.parquet" for name in ("composed", "filtered", "clean"))
RULES = "rules"

FolderOption = Annotated[
    Path, typer.Option("--dir", metavar="DIR", help="Where all steps read and write. (default: synth)")
]

CRAWL_EXAMPLES = ("warpsmith synth crawl", "warpsmith synth crawl --library torch --dir my-tasks")


def crawl(
    *,
    folder: FolderOption = Path("synth"),
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
    config = CrawlConfig(libraries=tuple(library)) if library else CrawlConfig()
    with console.busy("trying operators"):
        found = seeds(config)
    _room(folder)
    write_seeds(found, folder / SEEDS)
    reasons = {reason.value: count for reason, count in found.reasons().items()}
    console.say(f"{len(found.seeds)} operators, {len(found.skipped)} names that are none: {folder / SEEDS}")
    console.document(
        {
            "command": "synth crawl",
            "exit_code": 0,
            "file": folder / SEEDS,
            "num_seeds": len(found.seeds),
            "skipped": reasons,
        }
    )
    return ExitCode.OK


COMPOSE_EXAMPLES = (
    "warpsmith synth compose --n 8000 --max-ops 5",
    "warpsmith synth compose --n 200 --curriculum fused --seed 1",
    "warpsmith synth compose --n 100 --model openai:NAME --base-url http://localhost:8000/v1",
)


def compose(
    *,
    folder: FolderOption = Path("synth"),
    n: Annotated[int, typer.Option("--n", min=1, help="How many.")] = 1000,
    max_ops: Annotated[int, typer.Option(min=1, help="Operators stacked at most, up to 5.")] = 5,
    curriculum: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="elementwise, fused, reductions and norms, gemm epilogues, convolutions or layers. "
            "(default: all)",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same one makes the same tasks.")] = 0,
    gpu: Annotated[
        str, typer.Option(metavar="NAME", help="Whose roofline the sizes are chosen by.")
    ] = "h200",
    min_ms: Annotated[float, typer.Option(help="Of the modelled eager time.")] = 1.0,
    max_ms: Annotated[float, typer.Option(help="Likewise.")] = 100.0,
    model: Annotated[
        str, typer.Option(metavar="rules|KIND:NAME", help="Who composes: rules, or a model that is asked.")
    ] = RULES,
    base_url: asking.BaseUrlOption = None,
    json: options.JsonOption = False,
) -> ExitCode:
    """Stack operators into layers, and write each as a task in KernelBench's format.

    Adds to composed/tasks.parquet. Nothing is filtered yet.
    """
    from warpsmith.tasks.store import Store
    from warpsmith.tasks.synth.compose import Recipe
    from warpsmith.tasks.synth.seeds import read_seeds

    console = Console(is_json=json)
    recipe = Recipe(
        n=n,
        max_ops=max_ops,
        seed=seed,
        gpu=gpu,
        curriculum=_curriculum(curriculum),
        band_ms=(min_ms, max_ms),
    )
    operators = read_seeds(folder / SEEDS).seeds
    ask = None if model == RULES else _ask(model, base_url)
    junk: list[str] = []
    store = Store(folder / COMPOSED)
    with console.busy("composing"):
        written = store.append(_made(operators, recipe, ask, junk), _about("composed", gpu))
    console.say(f"{written.num_added} new tasks, {written.num_rows} in all: {store.path}")
    console.say(*([f"{len(junk)} answers were no tasks, such as: {junk[0]}"] if junk else []))
    console.document(
        {
            "command": "synth compose",
            "exit_code": 0,
            "store": store.path,
            "num_added": written.num_added,
            "num_tasks": written.num_rows,
            "junk": junk,
        }
    )
    return ExitCode.OK


FILTER_EXAMPLES = (
    "warpsmith synth filter --device cuda --workers 16",
    "warpsmith synth filter --device cpu --min-ms 0.01 --json | jq .rejected",
)


def filter_(
    *,
    folder: FolderOption = Path("synth"),
    workers: Annotated[int, typer.Option(min=1, help="Tasks looked at side by side.")] = 2,
    min_ms: Annotated[float, typer.Option(help="Of eager's time on the device.")] = 1.0,
    max_ms: Annotated[float, typer.Option(help="Likewise.")] = 100.0,
    device: options.DeviceOption = "auto",
    gpu: options.GpuOption = None,
    sandbox: options.SandboxOption = "auto",
    json: options.JsonOption = False,
) -> ExitCode:
    """Run each composed task in a process of its own, and keep those that are worth judging by.

    In turn: it is Python, runs, is deterministic, is told from answers that compute nothing, passes the
    audit, compiles to the same, and takes neither too little nor too much time. A run that was killed goes
    on where it was. Writes filtered/tasks.parquet, and funnel.json with a reason for every rejection.
    """
    from warpsmith.device import select_device
    from warpsmith.sandbox import pick
    from warpsmith.tasks.store import Store
    from warpsmith.tasks.synth.filters import Band, Checks, FilterConfig, filtered

    console = Console(is_json=json)
    kind = pick(sandbox)
    console.warn(kind.warning)
    config = FilterConfig(
        device=select_device(device, None, gpu),
        sandbox=kind,
        workers=workers,
        checks=Checks(band=Band(least_us=1e3 * min_ms, most_us=1e3 * max_ms)),
    )
    rows = list(Store(folder / COMPOSED).rows())
    with console.busy(f"filtering {len(rows)} tasks"):
        funnel = filtered([row.task for row in rows], config, folder / STATE, _teller(console))
    store = Store(folder / FILTERED)
    written = store.write(_kept(rows, funnel), _about("filtered", config.device.name))
    found = _funnel_data(funnel)
    _write_json(folder / FUNNEL, found)
    console.say(*(f"  {count:6d}  {reason}" for reason, count in found["by_reason"].items()))
    console.say(f"{written.num_rows} of {len(rows)} are kept: {store.path}; reasons: {folder / FUNNEL}")
    console.document({"command": "synth filter", "exit_code": 0, "store": store.path, **found})
    return ExitCode.OK


DECONTAMINATE_EXAMPLES = (
    "warpsmith synth decontaminate --against kernelbench=KernelBench",
    "warpsmith synth decontaminate --against jsonl=held-out.jsonl --threshold 0.8",
)


def decontaminate(
    *,
    folder: FolderOption = Path("synth"),
    against: Annotated[
        list[str],
        typer.Option(metavar="SUITE=PATH", help="kernelbench, ops6k or jsonl, and where it is. Repeatable."),
    ],
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Similarity from which on a task goes.")
    ] = 0.9,
    json: options.JsonOption = False,
) -> ExitCode:
    """Drop the filtered tasks that are too close to a benchmark's, or to one another.

    Compared are the tensor graphs that models compute, their normalised tokens, and their exact hash. Writes
    clean/tasks.parquet, and similarity.json with the histogram, the closest pairs and all that was dropped.
    """
    from warpsmith.tasks.store import Store
    from warpsmith.tasks.suites import imported, suite
    from warpsmith.tasks.synth.similarity import Thresholds, decontaminated, without_near_duplicates

    console = Console(is_json=json)
    held: list[Task] = []
    for text in against:
        name, _, path = text.partition("=")
        held += [made.task for made in imported(suite(name), Path(path)).made]
    limits = Thresholds(structure=threshold, tokens=threshold)
    rows = {row.task.digest: row for row in Store(folder / FILTERED).rows()}
    with console.busy(f"comparing {len(rows)} tasks with {len(held)}"):
        beside = decontaminated([row.task for row in rows.values()], held, limits)
        alone = without_near_duplicates(beside.kept, limits)
    store = Store(folder / CLEAN)
    about = Store(folder / FILTERED).about()
    store.write((rows[task.digest] for task in alone.kept), about)
    found = {"against": _similarity_data(beside), "within": _similarity_data(alone)}
    _write_json(folder / SIMILARITY, found)
    console.say(
        f"{len(beside.dropped)} are too close to a benchmark's, {len(alone.dropped)} to another of the set; "
        f"{len(alone.kept)} of {len(rows)} are kept: {store.path}; details: {folder / SIMILARITY}"
    )
    console.document({"command": "synth decontaminate", "exit_code": 0, "store": store.path, **found})
    return ExitCode.OK


def _made(
    operators: "tuple[Operator, ...]", recipe: "Recipe", ask: "Ask | None", junk: list[str]
) -> "Iterator[Made]":
    """Tasks as they are made; what a model answered in place of one goes into `junk`."""
    from warpsmith.tasks.synth.compose import Junk, composed, invented

    if ask is None:
        yield from composed(operators, recipe)
        return
    for one in invented(operators, ask, n=recipe.n, seed=recipe.seed, max_ops=recipe.max_ops):
        if isinstance(one, Junk):
            junk.append(one.reason)
        else:
            yield one


def _ask(model: str, base_url: str | None) -> "Ask":
    """What a model answers to a prompt, each in a conversation of its own."""
    from warpsmith.core import Message, Role
    from warpsmith.policy import PolicyConfig, make_policy

    config = PolicyConfig(base_url=base_url, style="files")

    def ask(prompt: str) -> str:
        policy = make_policy(model, config)
        return policy.respond((Message(role=Role.USER, text=prompt),), ()).message.text

    make_policy(model, config)  # a wrong name is told before anything is composed
    return ask


def _curriculum(name: str | None) -> "Curriculum | None":
    from warpsmith.tasks.synth.base import Curriculum

    if name is None:
        return None
    try:
        return Curriculum(name)
    except ValueError as error:
        raise UsageError(
            f"there is no curriculum {name!r:.80}; choose one of {', '.join(Curriculum)}"
        ) from error


def _kept(rows: "list[Made]", funnel: "Funnel") -> "Iterator[Made]":
    from dataclasses import replace

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


def _funnel_data(funnel: "Funnel") -> dict[str, Any]:
    return {
        "num_kept": len(funnel.kept),
        "num_repeated": funnel.num_repeated,
        "num_resumed": funnel.num_resumed,
        "wall_s": funnel.wall_s,
        "by_reason": {reason.value: count for reason, count in funnel.by_reason.items()},
        "remaining": {stage.value: count for stage, count in funnel.remaining.items()},
        "suspicious": dict(funnel.by_suspicion),
        "rejected": funnel.rejected,
        "undecided": funnel.undecided,
    }


def _similarity_data(found: "Decontaminated") -> dict[str, Any]:
    return {
        "thresholds": found.thresholds,
        "num_kept": len(found.kept),
        "histogram": found.histogram,
        "top": found.top,
        "dropped": [dropped.neighbour for dropped in found.dropped],
        "unread": found.unread,
        "unread_others": found.unread_others,
    }


def _about(what: str, device: str) -> "About":
    from importlib.metadata import version

    from warpsmith import __version__
    from warpsmith.tasks.store import About

    return About(
        title=f"Tasks, {what}",
        description="Made by `warpsmith synth` from operators of installed libraries.",
        licence="Apache-2.0",
        device=device,
        versions={"warpsmith": __version__, "torch": version("torch")},
    )


def _room(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made ({error.strerror}); name another --dir") from error


def _write_json(path: Path, data: dict[str, Any]) -> None:
    from warpsmith.core.codec import to_json

    try:
        path.write_text(to_json(data, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror})") from error
