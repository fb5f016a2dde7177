"""`warpsmith eval`: how often a policy passes and is faster on a suite, and what another one gains on it."""

from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli import asking, options, rolling, spending
from warpsmith.cli.asking import Manner
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.train.choices import AskedRewardOption, LimitOption, MannerOption, SplitOption
from warpsmith.cli.train.overriding import WorkWish
from warpsmith.cli.train.tables import comparison_table, kind_lines, standing_table

EXAMPLES = (
    "warpsmith eval --suite synth/clean/tasks.parquet --split test --policy local:runs/ppo/final/actor "
    "--out evals/ppo",
    "warpsmith eval --suite synth/clean/tasks.parquet --split validation --policy builtin --out evals/b",
)
COMPARE_EXAMPLES = ("warpsmith eval compare evals/sft evals/ppo",)

OutOption = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="Where it goes; the same command goes on with what was begun."),
]
TriesOption = Annotated[int, typer.Option("--n", min=1, help="Tries at each task.")]


def evaluate(
    *,
    suite: rolling.SuiteOption,
    split: SplitOption = "test",
    limit: LimitOption = None,
    policy: rolling.PolicyOption,
    n: TriesOption = 1,
    out: OutOption,
    manner: MannerOption = "agent",
    reward: AskedRewardOption = "milestone",
    parallel: rolling.ParallelOption = 4,
    max_turns: spending.TurnsOption = None,
    base_url: asking.BaseUrlOption = None,
    temperature: asking.TemperatureOption = 0.0,
    top_p: asking.TopPOption = None,
    max_reply_tokens: asking.ReplyTokensOption = None,
    seed: asking.SeedOption = 0,
    style: asking.StyleOption = None,
    device: options.DeviceOption = "auto",
    sandbox: options.SandboxOption = "auto",
    json: options.JsonOption = False,
) -> ExitCode:
    """Say how good a policy is on a suite: how many pass, how many are faster, how failures divide.

    Faster: more than 5 % of the time of eager, or torch.compile, is saved. All intervals are of 95 %, over
    tasks. On the cpu device times are modelled, and no speed-up is made of them. OUT is as rollout leaves it.
    """
    from warpsmith.learn.evaluation.standing import standing

    console = Console(is_json=json)
    wish = WorkWish(
        suite=suite,
        split=split,
        limit=limit,
        manner=manner,
        reward=reward,
        tasks_per_step=parallel,
        samples_per_task=n,
        max_turns=max_turns,
    )
    order = rolling.Ordered(
        policy=policy,
        wish=wish,
        manner=Manner(
            base_url=base_url,
            temperature=temperature,
            top_p=top_p,
            max_reply_tokens=max_reply_tokens,
            seed=seed,
            style=style,
        ),
        device=device,
        sandbox=sandbox,
        out=out,
    )
    done = order.carried_out(console)
    found = standing(done.attempts)
    console.say(f"{policy} on {split}", standing_table(found), *kind_lines(found))
    console.say(rolling.throughput_text(done.throughput))
    console.document(
        {
            "command": "eval",
            "exit_code": 0,
            "folder": done.folder,
            "policy": policy,
            "split": split,
            "standing": found,
            "throughput": done.throughput,
        }
    )
    return ExitCode.OK


def compare(
    *,
    before: Annotated[Path, typer.Argument(metavar="A", help="An evaluation's folder.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="Another's, of the same tasks.")],
    json: options.JsonOption = False,
) -> ExitCode:
    """Say what B gained on A, task by task; the intervals are of the differences."""
    from warpsmith.learn.evaluation.comparison import compare as compared
    from warpsmith.learn.evaluation.rollouts import attempts_in

    console = Console(is_json=json)
    found = compared(attempts_in(before), attempts_in(after))
    console.say(comparison_table(found))
    for side, count in (("A", found.num_only_before), ("B", found.num_only_after)):
        if count:
            console.warn(f"{count} tasks are in {side} alone; they are left out")
    console.document({"command": "eval compare", "exit_code": 0, "comparison": found})
    return ExitCode.OK
