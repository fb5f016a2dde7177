"""Rejection fine-tuning of Qwen2.5-Coder-0.5B on one H200.

Batches and rates are chosen here: no paper tells its own. 16k tokens go forward and backward in 0.23 s.
"""

from dataclasses import replace

from warpsmith.learn.recipes.base import SftRecipe
from warpsmith.learn.recipes.cuda_agent import imitation


def recipe() -> SftRecipe:
    stage = imitation(steps=60)
    return SftRecipe(stage=replace(stage, loop=replace(stage.loop, save_every=20)))
