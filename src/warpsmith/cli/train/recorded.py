"""`warpsmith train collect`, `sft` and `value`: what is learnt from runs that were recorded."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.train import engines
from warpsmith.cli.train.choices import (
    AskedRewardOption,
    DataOption,
    ModelOption,
    RateOption,
    RecipeOption,
    RunOption,
    SeedOption,
    StepsOption,
)
from warpsmith.cli.train.overriding import StageWish
from warpsmith.cli.train.telling import carry_out, read_student

if TYPE_CHECKING:
    from warpsmith.learn.config import SftConfig, ValueConfig
    from warpsmith.learn.engines.local.stage import Stage
    from warpsmith.learn.engines.local.student import Student
    from warpsmith.learn.recorded import Shelf
    from warpsmith.learn.trajectory import Sample

C = TypeVar("C", "SftConfig", "ValueConfig")

SFT_RECIPE = "rft_qwen05b_h200"
VALUE_RECIPE = "value_qwen05b_h200"

COLLECT_EXAMPLES = ("warpsmith train collect runs/* --model ./my-model --out samples.jsonl",)
SFT_EXAMPLES = (
    "warpsmith train sft --recipe rft_qwen05b_h200 --model ./my-model --data rollouts/samples.jsonl "
    "--run runs/sft",
)
VALUE_EXAMPLES = (
    "warpsmith train value --model runs/sft/final/actor --data rollouts/samples.jsonl --run runs/value",
)


def collect(
    *,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of warpsmith optimize.")],
    model: ModelOption,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the samples go.")],
    reward: AskedRewardOption = "milestone",
    all_: Annotated[
        bool, typer.Option("--all", help="Keep bad ones too: a critic learns from both.")
    ] = False,
    json: options.JsonOption = False,
) -> ExitCode:
    """Make samples of runs: the tokens that a local model drew, or what any other policy said, as text.

    Without --all only runs that earned more than 0, without loops and cut replies, are kept.
    """
    from warpsmith.learn.acting import shelf_of
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
    recipe: RecipeOption = SFT_RECIPE,
    steps: StepsOption = None,
    lr: RateOption = None,
    seed: SeedOption = None,
    engine: engines.EngineOption = "local",
    nodes: engines.NodesOption = None,
    gpus: engines.GpusOption = None,
    judge_gpu: engines.JudgeGpuOption = None,
    dry_run: engines.DryRunOption = False,
    json: options.JsonOption = False,
) -> ExitCode:
    """Imitate samples that earned enough: masked cross entropy on what was drawn or taught."""
    from warpsmith.learn.engines.local.sft import Sft
    from warpsmith.learn.recipes import SftRecipe, recipe_of
    from warpsmith.learn.trajectory import filtered

    console = Console(is_json=json)
    named = recipe_of(SftRecipe, recipe)
    config = StageWish(steps=steps, lr=lr, seed=seed).recorded(named.stage)

    def samples() -> "Sequence[Sample]":
        found = _samples(data)
        if named.above is None:
            return found
        kept = filtered(found, above=named.above).samples
        console.note(f"{len(kept)} of {len(found)} samples are worth imitating")
        return kept

    elsewhere = engines.Elsewhere(engine=engine, nodes=nodes, gpus=gpus, judge_gpu=judge_gpu, is_dry=dry_run)
    if not elsewhere.is_here:
        errand = engines.Errand(stage=config, model=model, run=run, samples=samples())
        return engines.carry_out(console, elsewhere, errand)

    def stage() -> "Stage":
        student = read_student(model)
        return Sft(student, samples(), _suited(config, student))

    return carry_out(console, run, stage)


def value(
    *,
    model: ModelOption,
    data: DataOption,
    run: RunOption,
    recipe: RecipeOption = VALUE_RECIPE,
    steps: StepsOption = None,
    lr: RateOption = None,
    seed: SeedOption = None,
    engine: engines.EngineOption = "local",
    nodes: engines.NodesOption = None,
    gpus: engines.GpusOption = None,
    judge_gpu: engines.JudgeGpuOption = None,
    dry_run: engines.DryRunOption = False,
    json: options.JsonOption = False,
) -> ExitCode:
    """Fit a critic to what samples earned; the student is only copied from."""
    from warpsmith.learn.engines.local.valuation import Valuation
    from warpsmith.learn.recipes import ValueRecipe, recipe_of

    named = recipe_of(ValueRecipe, recipe)
    config = StageWish(steps=steps, lr=lr, seed=seed).recorded(named.stage)

    def samples() -> "Sequence[Sample]":
        return [sample for sample in _samples(data) if sample.reward is not None]

    elsewhere = engines.Elsewhere(engine=engine, nodes=nodes, gpus=gpus, judge_gpu=judge_gpu, is_dry=dry_run)
    if not elsewhere.is_here:
        errand = engines.Errand(stage=config, model=model, run=run, samples=samples())
        return engines.carry_out(Console(is_json=json), elsewhere, errand)

    def stage() -> "Stage":
        student = read_student(model)
        return Valuation(student, samples(), _suited(config, student))

    return carry_out(Console(is_json=json), run, stage)


def _suited(config: C, student: "Student") -> C:
    from warpsmith.learn.recipes.fitting import suited

    return replace(config, memory=suited(config.memory, student.device.type))


def _samples(data: Sequence[Path]) -> "list[Sample]":
    from warpsmith.learn.trajectory import read_samples

    return [sample for path in data for sample in read_samples(path)]


def _samples_in(folder: Path, shelf: "Shelf") -> "tuple[Sample, ...]":
    from warpsmith.agent.runs.record import TOKENS

    return shelf.drawn_in(folder) if (folder / TOKENS).is_file() else (shelf.taught_in(folder),)
