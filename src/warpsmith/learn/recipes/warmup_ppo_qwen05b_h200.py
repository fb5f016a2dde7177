"""Single-turn PPO of Qwen2.5-Coder-0.5B on one H200: a prompt, a reply with whole files, a verdict.

A step of 256 replies takes about a minute there: 12 s of drawing, 30 s of builds on 16 cores, 20 s of
learning. So 25 steps are what half an hour has.
"""

from dataclasses import replace

from warpsmith.learn.recipes.base import Manner, PpoRecipe, Suite, Work
from warpsmith.learn.recipes.cuda_agent import agentic
from warpsmith.learn.recipes.suites import FUSED
from warpsmith.policy.base import Sampling


def recipe() -> PpoRecipe:
    stage = agentic(steps=25)
    return PpoRecipe(
        stage=replace(
            stage,
            loop=replace(stage.loop, save_every=5, num_kept=5),
            sampling=Sampling(temperature=1.0, max_tokens=1_536),
            critic_only_steps=2,
        ),
        work=Work(
            suite=Suite(store=FUSED),
            manner=Manner.ANSWER,
            tasks_per_step=32,
            samples_per_task=8,
        ),
    )
