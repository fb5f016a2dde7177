"""Runs a task's own text on the meta device: it gives shapes, and no numbers."""

from typing import Any

import torch

from warpsmith.tasks.synth.base import Shape
from warpsmith.tasks.synth.compose.bench import FOREIGN, Unfit


def answer_shape(source: str) -> Shape:
    """The shape of what the text's model answers to its inputs. Raises Unfit if it does not get so far."""
    task: dict[str, Any] = {"__name__": "task"}
    try:
        exec(compile(source, "task.py", "exec"), task)
        with torch.device("meta"):
            model = task["Model"](*task["get_init_inputs"]()).eval()
            answer = model(*task["get_inputs"]())
    except FOREIGN as error:
        raise Unfit(f"{type(error).__name__}: {error}") from error
    if not torch.is_tensor(answer):
        raise Unfit(f"answers a {type(answer).__name__}")
    return tuple(answer.shape)
