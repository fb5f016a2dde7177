"""`warpsmith train toy`: all stages on a task that a tiny model learns in a minute."""

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.train.choices import AskedSeedOption, RunOption
from warpsmith.cli.train.telling import ended, tell

EXAMPLES = ("warpsmith train toy --run runs/toy",)


def toy(*, run: RunOption, seed: AskedSeedOption = 0, json: options.JsonOption = False) -> ExitCode:
    """Take a tiny model through all stages on a toy task: imitation, critic, PPO, GRPO; a minute on a CPU."""
    from warpsmith.learn.pipeline.course import Listener
    from warpsmith.learn.toy.pipeline import pipeline

    console = Console(is_json=json)
    listener = Listener(step=lambda stage, step, metrics: tell(console, stage, step, metrics))
    told = pipeline(run, seed=seed, listener=listener)
    return ended(console, "toy", list(told.values())[-1])
