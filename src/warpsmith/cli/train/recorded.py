"""`warpsmith train collect`, `sft` and `value`: what is learnt from runs that were recorded."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.train.choices import (
    DataOption,
    ModelOption,
    RateOption,
    RewardOption,
    RunOption,
    SeedOption,
    StepsOption,
)
from warpsmith.cli.train.telling import carry_out, read_student, shelf_of, suited

if TYPE_CHECKING:
    from warpsmith.learn.config import SftConfig, ValueConfig
    from warpsmith.learn.engines.local.stage import Stage
    from warpsmith.learn.engines.local.student import Student
    from warpsmith.learn.recorded import Shelf
    from warpsmith.learn.trajectory import Sample

C = TypeVar("C", "SftConfig", "ValueConfig")

COLLECT_EXAMPLES = ("warpsmith train collect runs/* --model ./my-model --out samples.jsonl",)
SFT_EXAMPLES = ("warpsmith train sft --model ./my-model --data samples.jsonl --run runs/sft",)
VALUE_EXAMPLES = ("warpsmith train value --model runs/sft/final/actor --data samples.jsonl --run runs/value",)


def collect(
    *,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of warpsmith optimize.")],
    model: ModelOption,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the samples go.")],
    reward: RewardOption = "milestone",
    all_: Annotated[
        bool, typer.Option("--all", help="Keep bad ones too: a critic learns from both.")
    ] = False,
    json: options.JsonOption = False,
) -> ExitCode:
    """Make samples of runs: the tokens that a local model drew, or what any other policy said, as text.

    Without --all only runs that earned more than 0, without loops and cut replies, are kept.
    """
    from warpsmith.learn.trajectory import filtered, write_samples

    console = Console(is_json=json)
    shelf = shelf_of(read_student(model), reward)
    samples = [sample for folder in runs for sample in _samples_in(folder, shelf)]
    kept = [s for s in samples if s.reward is not None] if all_ else list(filtered(samples).samples)
    dropped = {} if all_ else {reason.value: count for reason, count in filtered(samples).dropped.items()}
    write_samples(kept, out)
    console.say(f"{len(kept)} of {len(samples)} samples: {out}")
    for reason, count in dropped.items():
        console.say(f"  left out, {reason}: {count}")
    console.document(
        {"command": "train collect", "exit_code": 0, "file": out, "num_kept": len(kept), "dropped": dropped}
    )
    return ExitCode.OK


def sft(
    *,
    model: ModelOption,
    data: DataOption,
    run: RunOption,
    steps: StepsOption = 100,
    lr: RateOption = None,
    seed: SeedOption = 0,
    json: options.JsonOption = False,
) -> ExitCode:
    """Imitate samples: masked cross entropy on what was drawn or taught."""
    from warpsmith.learn.engines.local.sft import Sft
    from warpsmith.learn.recipes import cuda_agent

    def stage() -> "Stage":
        student = read_student(model)
        return Sft(student, _samples(data), _recorded(cuda_agent.imitation(steps, seed), student, lr))

    return carry_out(Console(is_json=json), run, stage)


def value(
    *,
    model: ModelOption,
    data: DataOption,
    run: RunOption,
    steps: StepsOption = 100,
    lr: RateOption = None,
    seed: SeedOption = 0,
    json: options.JsonOption = False,
) -> ExitCode:
    """Fit a critic to what samples earned; the student is only copied from."""
    from warpsmith.learn.engines.local.valuation import Valuation
    from warpsmith.learn.recipes import cuda_agent

    def stage() -> "Stage":
        student = read_student(model)
        return Valuation(student, _samples(data), _recorded(cuda_agent.value(steps, seed), student, lr))

    return carry_out(Console(is_json=json), run, stage)


def _recorded(config: C, student: "Student", lr: float | None) -> C:
    if lr is not None:
        config = replace(config, descent=replace(config.descent, lr=lr))
    return replace(config, memory=suited(config.memory, student))


def _samples(data: Path) -> "list[Sample]":
    from warpsmith.learn.trajectory import read_samples

    return list(read_samples(data))


def _samples_in(folder: Path, shelf: "Shelf") -> "tuple[Sample, ...]":
    from warpsmith.agent.runs.record import TOKENS

    return shelf.drawn_in(folder) if (folder / TOKENS).is_file() else (shelf.taught_in(folder),)
