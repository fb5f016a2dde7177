"""All stages in a row on the toy: the wiring of a real pipeline, in a minute or two."""

from pathlib import Path

from warpsmith.learn.engines.local.loop import Trained
from warpsmith.learn.pipeline.course import Listener, carry_out
from warpsmith.learn.recipes.toy_pipeline import Steps
from warpsmith.learn.recipes.toy_pipeline import pipeline as parts
from warpsmith.learn.toy.ground import ToyGround

__all__ = ["Steps", "pipeline"]


def pipeline(
    folder: Path, steps: Steps | None = None, *, seed: int = 0, listener: Listener | None = None
) -> dict[str, Trained]:
    """Rejection fine-tuning, value pre-training, PPO, GRPO; a stage that had an alarm is the last.

    A folder in which an earlier call was stopped is gone on with.
    """
    return carry_out(parts(steps, seed), ToyGround(seed=seed), folder, listener).trained
