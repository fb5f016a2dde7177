"""Single-turn PPO by a tiny model, judged on CPU cores: two steps of four replies."""

from warpsmith.learn.config import DescentConfig, LoopConfig, PpoConfig, UpdateConfig
from warpsmith.learn.monitors import Limits
from warpsmith.learn.recipes.base import Manner, PpoRecipe, Suite, Work
from warpsmith.learn.recipes.suites import TINY
from warpsmith.policy.base import Sampling


def recipe() -> PpoRecipe:
    return PpoRecipe(
        stage=PpoConfig(
            loop=LoopConfig(steps=2, limits=Limits(max_truncated=1.0)),
            update=UpdateConfig(descent=DescentConfig(lr=3e-4)),
            critic=DescentConfig(lr=1e-3),
            sampling=Sampling(temperature=0.7, max_tokens=400),
        ),
        work=Work(
            suite=Suite(store=TINY, limit=4), manner=Manner.ANSWER, tasks_per_step=2, samples_per_task=2
        ),
    )
