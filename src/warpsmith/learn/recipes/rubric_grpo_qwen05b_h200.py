"""GRPO of Qwen2.5-Coder-0.5B on atomic tasks, by rubric and rule, on one H200: 16 prompts, 8 replies each."""

from dataclasses import replace

from warpsmith.learn.recipes.base import GrpoRecipe, Manner, Suite, Work
from warpsmith.learn.recipes.stitchcuda import skills
from warpsmith.learn.recipes.suites import FUSED


def recipe() -> GrpoRecipe:
    stage = skills(steps=25)
    return GrpoRecipe(
        stage=replace(
            stage,
            loop=replace(stage.loop, save_every=5, num_kept=5),
            sampling=replace(stage.sampling, max_tokens=1_536),
        ),
        work=Work(
            suite=Suite(store=FUSED),
            reward="shaped",
            manner=Manner.ANSWER,
            tasks_per_step=16,
            samples_per_task=8,
        ),
    )
