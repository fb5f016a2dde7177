"""Whole rows of stages, by name."""

from collections.abc import Callable

from warpsmith.core import UsageError
from warpsmith.learn.pipeline.parts import Pipeline
from warpsmith.learn.recipes import cuda_agent_tiny, smoke, stitch_tiny

PIPELINES: dict[str, Callable[[], Pipeline]] = {
    "cuda_agent_tiny": cuda_agent_tiny.pipeline,
    "stitch_tiny": stitch_tiny.pipeline,
    "smoke": smoke.pipeline,
}


def pipeline_called(name: str) -> Pipeline:
    """Raises UsageError, with all names, if there is none of this."""
    if name not in PIPELINES:
        raise UsageError(f"unknown pipeline {name!r:.80}; choose one of {', '.join(PIPELINES)}")
    return PIPELINES[name]()
