"""A stack in words: as a formula for a reader, and as its structure."""

import re
from collections.abc import Sequence

from warpsmith.tasks.synth.base import Shape
from warpsmith.tasks.synth.compose.realising import Placed
from warpsmith.tasks.synth.compose.sizing import Sized
from warpsmith.tasks.synth.compose.stage import glued_text


def told(now: Placed, x: str, tensors: Sequence[str]) -> str:
    """The stage as a formula for a reader."""
    stage, start, parts = now.stage, 0, []
    for name, block in zip(stage.names, now.blocks, strict=True):
        end = start + len(block.arguments)
        parts.append(f"{snake(name)}({', '.join((x, *tensors[start:end]))})")
        start = end
    return glued_text(stage, f" {stage.joint} ".join(parts), x=x, tensor=tensors[-1] if tensors else "")


def listed(names: Sequence[str]) -> str:
    """Operators in words."""
    short = [name.rpartition(".")[2] for name in names]
    return short[0] if len(short) == 1 else f"{', '.join(short[:-1])}, then {short[-1]}"


def snake(name: str) -> str:
    """The last part of an operator's name, as an attribute is named."""
    last = name.rpartition(".")[2]
    for word in ("PReLU", "ReLU", "SiLU"):  # one word each, whatever their capitals
        last = last.replace(word, word.capitalize())
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", last).lower()


def structure_of(made: Sized) -> str:
    """Equal for tasks that differ in sizes alone: operators, their texts without numbers, and the glue."""
    return " | ".join(_structure(placed) for placed in made.chosen.placed)


def _structure(placed: Placed) -> str:
    stage = placed.stage
    texts = [" ".join((*block.init, block.forward)) for block in placed.blocks]
    numberless = [re.sub(r"(?<![\w.])\d+(?![\w.])", "#", text) for text in texts]
    kept = "parameters" if stage.has_parameters and placed.arguments else ""
    operators = " ".join(f"{name}: {text}" for name, text in zip(stage.names, numberless, strict=True))
    joint = stage.joint if len(stage.seeds) > 1 else ""
    return f"{_rank(placed.given)} {operators} {joint} {stage.glue} {kept}".rstrip()


def _rank(shape: Shape) -> str:
    return f"{len(shape)}d"
