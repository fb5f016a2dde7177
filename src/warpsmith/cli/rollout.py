"""`warpsmith rollout`: a policy's trajectories on a suite, with the tokens that training needs."""

from pathlib import Path
from typing import Annotated

import typer

from warpsmith.cli import asking, options, rolling, spending
from warpsmith.cli.asking import Manner
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.train.choices import AskedRewardOption, LimitOption, MannerOption, SplitOption
from warpsmith.cli.train.overriding import WorkWish

EXAMPLES = (
    "warpsmith rollout --suite synth/clean/tasks.parquet --policy local:./my-model --n 8 --out rollouts",
    "warpsmith rollout --suite synth/clean/tasks.parquet --policy builtin --model ./my-model --out lessons",
)

OutOption = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="Where they go; the same command goes on with what was begun."),
]
TriesOption = Annotated[int, typer.Option("--n", min=1, help="Rollouts of each task.")]


def rollout(
    *,
    suite: rolling.SuiteOption,
    split: SplitOption = "train",
    limit: LimitOption = None,
    policy: rolling.PolicyOption,
    model: rolling.ReaderOption = None,
    n: TriesOption = 8,
    out: OutOption,
    manner: MannerOption = "agent",
    reward: AskedRewardOption = "milestone",
    parallel: rolling.ParallelOption = 4,
    max_turns: spending.TurnsOption = None,
    base_url: asking.BaseUrlOption = None,
    temperature: asking.TemperatureOption = 1.0,
    top_p: asking.TopPOption = None,
    max_reply_tokens: asking.ReplyTokensOption = None,
    seed: asking.SeedOption = 0,
    style: asking.StyleOption = None,
    device: options.DeviceOption = "auto",
    sandbox: options.SandboxOption = "auto",
    json: options.JsonOption = False,
) -> ExitCode:
    """Let a policy work on each task of a suite several times, and keep what it read, drew and earned.

    OUT gets a run's folder for each rollout, attempts.jsonl with its verdict and reward, and samples.jsonl
    with its tokens: as they were drawn for a local model, as --model would read them for any other policy.
    What is finished is kept when it is killed; the same command goes on.
    """
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
        reader=model,
    )
    done = order.carried_out(console)
    passed = sum(attempt.has_passed for attempt in done.attempts)
    console.say(
        f"{len(done.attempts)} rollouts, {passed} passed; {done.num_samples} samples: {done.folder}",
        rolling.throughput_text(done.throughput),
    )
    console.document(
        {
            "command": "rollout",
            "exit_code": 0,
            "folder": done.folder,
            "num_attempts": len(done.attempts),
            "num_passed": passed,
            "num_samples": done.num_samples,
            "throughput": done.throughput,
        }
    )
    return ExitCode.OK
