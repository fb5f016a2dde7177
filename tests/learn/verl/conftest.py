"""Recipes, engines and samples, small and made up."""

from types import SimpleNamespace

import pytest

from warpsmith.learn.config import (
    DescentConfig,
    GrpoConfig,
    LoopConfig,
    PpoConfig,
    SftConfig,
    UpdateConfig,
    ValueConfig,
)
from warpsmith.learn.engines.verl.config import EngineConfig
from warpsmith.learn.rewards.base import Reward
from warpsmith.learn.trajectory import Sample, Span

LOOP = LoopConfig(steps=20, seed=7)
DESCENT = DescentConfig(lr=1e-5, warmup_steps=10)


@pytest.fixture
def recipes():
    update = UpdateConfig(descent=DESCENT, epochs=2, num_minibatches=4)
    return SimpleNamespace(
        ppo=PpoConfig(loop=LOOP, update=update, critic=DESCENT),
        grpo=GrpoConfig(loop=LOOP, update=UpdateConfig(descent=DESCENT, kl=0.03)),
        value=ValueConfig(loop=LOOP, descent=DESCENT),
        sft=SftConfig(loop=LOOP, descent=DESCENT),
    )


@pytest.fixture
def engine(tmp_path):
    return EngineConfig(model=tmp_path / "model", nodes=4, gpus=8)


@pytest.fixture
def sample():
    """Two turns: three tokens read, two drawn, one read, two drawn."""
    spans = (
        Span(start=3, end=5, logprobs=(-0.5, -1.0)),
        Span(start=6, end=8, logprobs=(-0.25, -2.0)),
    )
    return Sample(
        sample_id="a",
        task_id="softmax",
        ids=(5, 6, 7, 8, 2, 9, 8, 2),
        spans=spans,
        outcome=Reward(value=3.0, parts={"correct": 1.0}),
    )
