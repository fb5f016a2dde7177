"""PPO of Qwen2.5-Coder-0.5B over whole episodes of the agent, six turns at most, on one H200."""

from dataclasses import replace

from warpsmith.agent.budget import Budget
from warpsmith.learn.recipes.base import PpoRecipe, Suite, Work
from warpsmith.learn.recipes.cuda_agent import agentic
from warpsmith.learn.recipes.suites import FUSED
from warpsmith.policy.base import Sampling


def recipe() -> PpoRecipe:
    stage = agentic(steps=15)
    return PpoRecipe(
        stage=replace(
            stage,
            loop=replace(stage.loop, save_every=5, num_kept=3),
            sampling=Sampling(temperature=1.0, max_tokens=1_536),
        ),
        work=Work(
            suite=Suite(store=FUSED),
            budget=Budget(max_turns=6),
            tasks_per_step=16,
            samples_per_task=8,
        ),
    )
