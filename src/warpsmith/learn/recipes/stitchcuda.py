"""GRPO on atomic skills with a rubric, after StitchCUDA (arXiv 2603.02637) and its scripts.

From the scripts: learning rate 1e-6, KL weight 0.03 by k3, clip bounds 0.2 and 0.28. From the paper: 8
samples of each of 16 prompts; the scripts have 6 of 16. They draw at temperature 0.9 with top_p 0.95 and
top_k 20; here without the latter two, which would be another distribution than the one that is learnt. Their
adapters (LoRA) are not built here: all weights learn.
"""

from warpsmith.learn.config import DescentConfig, GrpoConfig, LoopConfig, MemoryConfig, UpdateConfig
from warpsmith.policy.base import Sampling


def skills(steps: int = 75, seed: int = 0) -> GrpoConfig:
    """75 steps are three epochs of 400 prompts."""
    return GrpoConfig(
        loop=LoopConfig(steps=steps, seed=seed),
        update=UpdateConfig(descent=DescentConfig(lr=1e-6), num_minibatches=2, kl=0.03),
        memory=MemoryConfig(is_checkpointed=True, precision="bf16"),
        sampling=Sampling(temperature=0.9, max_tokens=16_384),
    )
