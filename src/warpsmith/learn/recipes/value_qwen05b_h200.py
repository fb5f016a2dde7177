"""Value pre-training for Qwen2.5-Coder-0.5B on one H200: all samples, good and bad."""

from warpsmith.learn.recipes.base import ValueRecipe
from warpsmith.learn.recipes.cuda_agent import value


def recipe() -> ValueRecipe:
    return ValueRecipe(stage=value(steps=60))
