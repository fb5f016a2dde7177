"""Configurations that take a tiny model through all stages in a minute or two on one CPU core."""

from warpsmith.learn.config import (
    DescentConfig,
    GrpoConfig,
    LoopConfig,
    PpoConfig,
    SftConfig,
    UpdateConfig,
    ValueConfig,
)
from warpsmith.policy.base import Sampling

SAMPLING = Sampling(temperature=1.0, max_tokens=4)


def sft(steps: int = 40, seed: int = 0) -> SftConfig:
    return SftConfig(
        loop=LoopConfig(steps=steps, seed=seed), descent=DescentConfig(lr=1e-2), samples_per_step=32
    )


def value(steps: int = 60, seed: int = 0) -> ValueConfig:
    return ValueConfig(
        loop=LoopConfig(steps=steps, seed=seed), descent=DescentConfig(lr=5e-3), samples_per_step=64
    )


def ppo(steps: int = 40, seed: int = 0) -> PpoConfig:
    return PpoConfig(
        loop=LoopConfig(steps=steps, seed=seed),
        update=UpdateConfig(descent=DescentConfig(lr=2e-3), epochs=2, num_minibatches=2),
        critic=DescentConfig(lr=3e-3),
        sampling=SAMPLING,
    )


def grpo(steps: int = 20, seed: int = 0) -> GrpoConfig:
    return GrpoConfig(
        loop=LoopConfig(steps=steps, seed=seed),
        update=UpdateConfig(descent=DescentConfig(lr=2e-3), epochs=2, num_minibatches=2, kl=0.001),
        sampling=SAMPLING,
    )
