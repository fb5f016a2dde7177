"""All stages on the toy, as a pipeline of their own: a minute or two on one CPU core."""

from dataclasses import dataclass
from pathlib import Path

from warpsmith.learn.pipeline.parts import (
    Chosen,
    Contrasted,
    Drawn,
    Imitated,
    Pipeline,
    Practised,
    Taught,
    Tested,
    Trial,
    Valued,
)
from warpsmith.learn.recipes import toy
from warpsmith.learn.recipes.base import GrpoRecipe, PpoRecipe, SftRecipe, Suite, ValueRecipe, Work

WORK = Work(suite=Suite(store=Path("toy.parquet")), samples_per_task=16)
TRIAL = Trial(sampling=toy.SAMPLING, tries=16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """How long each stage takes."""

    sft: int = 40
    value: int = 60
    ppo: int = 30
    grpo: int = 20


def pipeline(steps: Steps | None = None, seed: int = 0) -> Pipeline:
    steps = steps or Steps()
    return Pipeline(
        parts=(
            Taught(name="lessons", trial=TRIAL),
            Imitated(name="sft", recipe=SftRecipe(stage=toy.sft(steps.sft, seed)), data=("lessons",)),
            Drawn(name="rollouts", actor="sft", trial=TRIAL),
            Valued(
                name="value",
                recipe=ValueRecipe(stage=toy.value(steps.value, seed)),
                data=("rollouts",),
                actor="sft",
            ),
            Practised(
                name="ppo",
                recipe=PpoRecipe(stage=toy.ppo(steps.ppo, seed), work=WORK),
                actor="sft",
                critic="value",
            ),
            Contrasted(
                name="grpo", recipe=GrpoRecipe(stage=toy.grpo(steps.grpo, seed), work=WORK), actor="ppo"
            ),
            Chosen(name="chosen", among=("sft", "ppo", "grpo"), trial=TRIAL),
            Tested(name="test", actors=("sft", "chosen"), trial=TRIAL),
        )
    )
