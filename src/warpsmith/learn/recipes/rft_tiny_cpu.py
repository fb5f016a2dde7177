"""Imitation by a tiny model on CPU cores: enough to see that the stage works, and to learn a few programs."""

from warpsmith.learn.config import DescentConfig, LoopConfig, SftConfig
from warpsmith.learn.recipes.base import SftRecipe


def recipe() -> SftRecipe:
    return SftRecipe(
        stage=SftConfig(
            loop=LoopConfig(steps=140, save_every=70),
            descent=DescentConfig(lr=5e-3, warmup_steps=5),
            samples_per_step=4,
        ),
    )
