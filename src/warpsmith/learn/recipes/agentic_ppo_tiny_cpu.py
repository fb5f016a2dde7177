"""PPO over whole episodes by a tiny model, judged on CPU cores: two steps of four episodes of two turns."""

from dataclasses import replace

from warpsmith.agent.budget import Budget
from warpsmith.learn.recipes import warmup_ppo_tiny_cpu
from warpsmith.learn.recipes.base import Manner, PpoRecipe


def recipe() -> PpoRecipe:
    warm = warmup_ppo_tiny_cpu.recipe()
    return PpoRecipe(
        stage=warm.stage,
        work=replace(warm.work, manner=Manner.AGENT, budget=Budget(max_turns=2)),
    )
