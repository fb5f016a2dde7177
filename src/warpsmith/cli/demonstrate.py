"""`warpsmith demonstrate`: correct programs, as replies that a student can be taught by."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.core import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warpsmith.core import Task
    from warpsmith.device import Device
    from warpsmith.learn.demonstrations import Demonstrating, Kept, Tried

TAUGHT = "train"  # the side of a store that is
BATCH = 8  # tasks that are worked on before the next line is written

EXAMPLES = (
    "warpsmith demonstrate --suite synth/clean/tasks.parquet --model ./my-model --out lessons.jsonl",
    "warpsmith demonstrate --suite synth/clean/tasks.parquet --model ./my-model --out lessons.jsonl "
    "--device cuda --n-per-task 4",
)


def demonstrate(
    *,
    suite: Annotated[Path, typer.Option("--suite", metavar="STORE.parquet", help="Tasks.")],
    split: Annotated[str, typer.Option(help="Its side; nothing but train is taught.")] = TAUGHT,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="The first so many tasks.")] = None,
    model: Annotated[
        Path, typer.Option("--model", metavar="DIR", help="The student: only its tokenizer is read.")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Samples; the same command goes on with them.")
    ],
    n_per_task: Annotated[int, typer.Option(min=1, help="Programs of a task, by different writers.")] = 2,
    max_reply_tokens: Annotated[int, typer.Option(min=1, help="Longer replies are left out.")] = 1_200,
    reward: Annotated[str, typer.Option(metavar="NAME", help="What a sample is said to earn.")] = "milestone",
    seed: Annotated[int, typer.Option(help="Which writers come first at a task.")] = 0,
    device: options.DeviceOption = "auto",
    sandbox: options.SandboxOption = "auto",
    json: options.JsonOption = False,
) -> ExitCode:
    """Write programs for tasks without a model, have them judged, and keep the correct ones as samples.

    Writers are the builtin engineer and plainer hands, down to one kernel an operator, so that there are good
    programs of every quality. OUT gets samples of one turn, in the prompt that a student is asked with;
    OUT.tried what was tried and why the rest was left out.
    """
    from warpsmith.core.codec import to_json
    from warpsmith.device import select_device
    from warpsmith.learn.acting.suites import tasks_of
    from warpsmith.learn.demonstrations import Kept
    from warpsmith.learn.recipes.base import Suite

    console = Console(is_json=json)
    if split != TAUGHT:
        raise UsageError(f"tasks for {split!r:.40} are never taught; give --split {TAUGHT}")
    chosen = select_device(device)
    tasks = tasks_of(Suite(store=suite, split=split, limit=limit), chosen.kind)
    how = _How(model, chosen, sandbox, reward, n_per_task, max_reply_tokens, seed)
    with console.busy("reading the tokenizer"):
        demonstrating = how.demonstrating()
    plan = {
        "tokenizer": demonstrating.tokenizer,
        "device": chosen.name,
        "reward": reward,
        "n_per_task": n_per_task,
        "max_reply_tokens": max_reply_tokens,
        "seed": seed,
    }
    kept = Kept(path=out, plan=to_json(plan))
    before = kept.begin()
    tried = [*before, *_carried_on(console, demonstrating, kept, before, tasks)]
    return _ended(console, kept, tried)


@dataclass(frozen=True, slots=True)
class _How:
    """As it was said on a command line."""

    model: Path
    device: "Device"
    sandbox: str
    reward: str
    n_per_task: int
    max_reply_tokens: int
    seed: int

    def demonstrating(self) -> "Demonstrating":
        from warpsmith.agent.optimize import OptimizeConfig, open_bench
        from warpsmith.learn.answering import Court
        from warpsmith.learn.demonstrations import Demonstrating
        from warpsmith.learn.demonstrations.reader import Reader
        from warpsmith.learn.grading import Grading
        from warpsmith.learn.rewards import make_rule
        from warpsmith.learn.rubric import StaticRubric

        reader = Reader.of(self.model)
        config = OptimizeConfig(device=self.device, sandbox=self.sandbox)
        return Demonstrating(
            template=reader.template,
            court=Court(opened=lambda task: open_bench(task, config)),
            grading=Grading(rule=make_rule(self.reward), rubric=StaticRubric()),
            gpu=self.device.gpu,
            tokenizer=reader.vocabulary,
            num_per_task=self.n_per_task,
            max_reply_tokens=self.max_reply_tokens,
            seed=self.seed,
        )


def _carried_on(
    console: Console,
    demonstrating: "Demonstrating",
    kept: "Kept",
    before: "tuple[Tried, ...]",
    tasks: "tuple[Task, ...]",
) -> "Iterator[Tried]":
    """What comes of the tasks that are not done yet, each written down as it comes."""
    from warpsmith.learn.demonstrations import programs_of

    done = {tried.task for tried in before}
    demonstrating.told.update(programs_of(before))
    waiting = list({task.digest: task for task in tasks if task.digest not in done}.values())
    for start in range(0, len(waiting), BATCH):
        for tried in demonstrating.tried(waiting[start : start + BATCH]):
            kept.add(tried)
            yield tried
        console.note(f"{min(start + BATCH, len(waiting))} of {len(waiting)} tasks")


def _ended(console: Console, kept: "Kept", tried: "list[Tried]") -> ExitCode:
    from warpsmith.learn.demonstrations import counted, reply_lengths

    num_samples = kept.export()
    counts, lengths = counted(tried), reply_lengths(tried)
    num_taught = sum(any(counted([one])["taught"].values()) for one in tried)
    console.say(f"{num_samples} samples of {num_taught} of {len(tried)} tasks: {kept.path}")
    for what, by_name in counts.items():
        console.say(*(f"  {what}, {name}: {count}" for name, count in by_name.items()))
    console.document(
        {
            "command": "demonstrate",
            "exit_code": 0,
            "file": kept.path,
            "num_samples": num_samples,
            "num_tasks": len(tried),
            "num_taught": num_taught,
            **counts,
            "reply_tokens": lengths,
        }
    )
    return ExitCode.OK
