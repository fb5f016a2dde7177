"""The four stages of CUDA Agent (arXiv 2602.24286), as far as its paper tells them.

Told there: clip bounds 0.2 and 0.28, learning rates 3e-6 of the actor and 6e-6 of the critic, one update a
batch of 1,024, 150 steps, gamma 1, no outcome but on the last token, the loss averaged within each sample.
Not told, and chosen here: rates and lengths of the warm-ups, temperature, no KL and no entropy term. Chosen
otherwise: lambda is 1, where the paper fits its critic with 0.95, of which a reward 100 tokens ahead keeps
0.6 %.
"""

from warpsmith.learn.config import (
    DescentConfig,
    LoopConfig,
    MemoryConfig,
    PpoConfig,
    SftConfig,
    UpdateConfig,
    ValueConfig,
)
from warpsmith.policy.base import Sampling

LONG = MemoryConfig(is_checkpointed=True, precision="bf16")


def imitation(steps: int, seed: int = 0) -> SftConfig:
    """Rejection fine-tuning on what `trajectory.filtered` kept; 3 epochs are steps = 3 * samples / 64."""
    return SftConfig(
        loop=LoopConfig(steps=steps, seed=seed),
        descent=DescentConfig(lr=1e-5, warmup_steps=10),
        memory=LONG,
        samples_per_step=64,
    )


def value(steps: int, seed: int = 0) -> ValueConfig:
    """The critic's fit to sampled trajectories, good and bad."""
    return ValueConfig(
        loop=LoopConfig(steps=steps, seed=seed),
        descent=DescentConfig(lr=6e-6, warmup_steps=10),
        memory=LONG,
        samples_per_step=64,
    )


def agentic(steps: int = 150, seed: int = 0) -> PpoConfig:
    """PPO over whole episodes of the agent, or over replies of one turn: what the source gives."""
    return PpoConfig(
        loop=LoopConfig(steps=steps, seed=seed),
        update=UpdateConfig(descent=DescentConfig(lr=3e-6), is_by_sample=True),
        critic=DescentConfig(lr=6e-6),
        memory=LONG,
        sampling=Sampling(temperature=1.0),
    )
