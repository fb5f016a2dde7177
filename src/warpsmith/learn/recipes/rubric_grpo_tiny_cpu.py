"""GRPO by rubric and rule with a tiny model, judged on CPU cores: two steps of four replies."""

from warpsmith.learn.config import DescentConfig, GrpoConfig, LoopConfig, UpdateConfig
from warpsmith.learn.monitors import Limits
from warpsmith.learn.recipes.base import GrpoRecipe, Manner, Suite, Work
from warpsmith.learn.recipes.suites import TINY
from warpsmith.policy.base import Sampling


def recipe() -> GrpoRecipe:
    return GrpoRecipe(
        stage=GrpoConfig(
            loop=LoopConfig(steps=2, limits=Limits(max_truncated=1.0)),
            update=UpdateConfig(descent=DescentConfig(lr=3e-4), kl=0.03),
            sampling=Sampling(temperature=0.7, max_tokens=400),
        ),
        work=Work(
            suite=Suite(store=TINY, limit=4),
            reward="shaped",
            manner=Manner.ANSWER,
            tasks_per_step=2,
            samples_per_task=2,
        ),
    )
