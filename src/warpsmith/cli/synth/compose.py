"""`warpsmith synth compose`: operators stacked into tasks, by rules or by a model that is asked."""

from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import asking, options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.synth.leaving import DEFAULT, FolderOption, about
from warpsmith.core import UsageError
from warpsmith.report.synth.folder import Folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warpsmith.tasks.synth.base import Curriculum, Made
    from warpsmith.tasks.synth.compose import Ask, Recipe
    from warpsmith.tasks.synth.seeds import Operator

RULES = "rules"

EXAMPLES = (
    "warpsmith synth compose --n 8000 --max-ops 5",
    "warpsmith synth compose --n 200 --curriculum fused --seed 1",
    "warpsmith synth compose --n 100 --model openai:NAME --base-url http://localhost:8000/v1",
)


def compose(
    *,
    folder: FolderOption = DEFAULT,
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
    operators = read_seeds(Folder(folder).seeds).seeds
    ask = None if model == RULES else _ask(model, base_url)
    junk: list[str] = []
    store = Store(Folder(folder).composed)
    with console.busy("composing"):
        written = store.append(_made(operators, recipe, ask, junk), about(f"composed, sized for {gpu}"))
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
