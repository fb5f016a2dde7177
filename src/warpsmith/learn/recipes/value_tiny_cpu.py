"""A critic for a tiny model on CPU cores."""

from warpsmith.learn.config import DescentConfig, LoopConfig, ValueConfig
from warpsmith.learn.recipes.base import ValueRecipe


def recipe() -> ValueRecipe:
    return ValueRecipe(
        stage=ValueConfig(
            loop=LoopConfig(steps=10), descent=DescentConfig(lr=2e-3, warmup_steps=2), samples_per_step=8
        )
    )
