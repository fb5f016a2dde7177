"""`warpsmith synth skills`: atomic skills to train on, out of tasks and out of what agents did."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.core import UsageError

if TYPE_CHECKING:
    from warpsmith.tasks.synth.base import Made
    from warpsmith.tasks.synth.skills import Keeping, Left, Skill, SubTask

EXAMPLES = (
    "warpsmith synth skills --from-tasks synth/clean/tasks.parquet --out skills",
    "warpsmith synth skills --from-runs runs --test synth/clean/tasks.parquet --out lessons",
)
SOURCES = "Where skills come from"
NUM_REASONS = 12


def skills(
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where they are written; it is made anew.")],
    from_tasks: Annotated[
        Path | None,
        typer.Option(
            metavar="STORE.parquet",
            help="Take single steps out of these tasks, to be written from scratch.",
            rich_help_panel=SOURCES,
        ),
    ] = None,
    from_runs: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Mine all runs below this folder for programs that were better after feedback.",
            rich_help_panel=SOURCES,
        ),
    ] = None,
    test: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="STORE.parquet",
            help="Keep no skill that is alike to a task held back here: those of its test and validation "
            "splits, or all if it has none. Repeatable.",
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Similarity from which on two tasks are alike.")
    ] = 0.9,
    most: Annotated[int, typer.Option(min=1, help="Steps taken out of one task at most.")] = 4,
    margin: Annotated[
        float, typer.Option(min=0.0, help="How much faster the next program must be, where both were right.")
    ] = 0.05,
    seed: Annotated[int, typer.Option(min=0, help="The same one chooses the same steps.")] = 0,
    sandbox: options.SandboxOption = "auto",
    json: options.JsonOption = False,
) -> ExitCode:
    """Make atomic skills: steps of larger tasks to be written from scratch, and programs to be made better.

    From tasks: one operator or a few, each a task of its own with a contract on its tensors and the launcher
    to be filled in. From runs: a program, what the judge said of it, and the next program, if that passed: a
    repair if the first had failed, else an optimisation. Writes skills.parquet, skills.jsonl and a card.
    """
    from warpsmith.agent.skills import Mining, mined, run_folders
    from warpsmith.tasks.store import Store
    from warpsmith.tasks.synth.similarity import Thresholds
    from warpsmith.tasks.synth.skills import Left, Skills, for_testing, held_back, keeping

    if from_tasks is None and from_runs is None:
        raise UsageError("skills come from somewhere: give --from-tasks STORE.parquet, or --from-runs DIR")
    console = Console(is_json=json)
    held = [task for path in test or () for task in for_testing(Store(path).rows())]
    found: list[Skill | Left] = []
    if from_tasks is not None:
        rows = list(Store(from_tasks).rows())
        held += held_back(rows)
        found += _of_tasks(rows, console, sandbox, most, seed)
    if from_runs is not None:
        folders = run_folders(from_runs)
        with console.busy(f"reading {len(folders)} runs"):
            found += mined(folders, Mining(margin=margin))
    usable = [one for one in found if not isinstance(one, Left)]
    kept = keeping(usable, held, Thresholds(structure=threshold, tokens=threshold))
    Skills(out).write(kept.kept)
    _say(console, out, kept, Counter(one.why for one in found if isinstance(one, Left)), len(held))
    return ExitCode.OK


def _of_tasks(
    rows: "list[Made]", console: Console, sandbox: str, most: int, seed: int
) -> "list[SubTask | Left]":
    from warpsmith.sandbox import pick
    from warpsmith.tasks.synth.skills import practised
    from warpsmith.tasks.synth.skills.sub_tasks import Cutting, sub_tasks

    kind = pick(sandbox)
    console.warn(kind.warning)
    tasks = practised(rows)
    with console.busy(f"taking {len(tasks)} tasks apart"):
        return list(sub_tasks(tasks, Cutting(sandbox=kind, most=most, seed=seed)))


def _say(console: Console, out: Path, kept: "Keeping", left: "Counter[str]", num_held: int) -> None:
    kinds = Counter(skill.kind.value for skill in kept.kept)
    console.say(*(f"  {count:6d}  no skill: {why:.100}" for why, count in left.most_common(NUM_REASONS)))
    if not num_held:
        console.warn("no task is held back: nothing was compared with a test set")
    told = ", ".join(f"{many} {kind}" for kind, many in sorted(kinds.items())) or "none"
    console.say(
        f"{len(kept.kept)} skills ({told}); {kept.repeated} were known, {len(kept.leaked)} tasks are too "
        f"close to one held back: {out}"
    )
    console.document(
        {
            "command": "synth skills",
            "exit_code": 0,
            "folder": out,
            "num_skills": len(kept.kept),
            "by_kind": dict(kinds),
            "num_repeated": kept.repeated,
            "num_held_back": num_held,
            "leaked": kept.leaked,
            "unread": kept.unread,
            "no_skill": dict(left),
        }
    )
