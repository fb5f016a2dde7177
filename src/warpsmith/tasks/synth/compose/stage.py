"""A stack before it has sizes: stages in sequence, each an operator or two side by side."""

import ast
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Protocol, runtime_checkable

from warpsmith.tasks.synth.base import Argument, Block, Kind, Seed, Shape
from warpsmith.tasks.synth.compose.layouts import Layout

HOLE = re.compile(r"\{(?:(self|name|x)|argument(\d+))\}")


@runtime_checkable
class StandsAlone(Protocol):
    """A seed that may also be given integers or truth values, where nothing comes before it."""

    def standalone(self, shape: Shape, rng: random.Random) -> Block | None:
        """As `Seed.block`; the block's input says what it takes."""
        ...


class Glue(StrEnum):
    """What is done to a stage's answer, beside handing it on."""

    NONE = "none"
    BIAS = "bias"  # a parameter is added, broadcast
    SCALE = "scale"  # a parameter is multiplied, broadcast
    RESIDUAL = "residual"  # what the stage was given is added
    INPUT = "input"  # a further input is added
    ROW = "row"  # a further input is multiplied, broadcast
    SCALAR = "scalar"  # a number is multiplied


PARAMETERS = frozenset({Glue.BIAS, Glue.SCALE})
WITH_TENSOR = frozenset({Glue.BIAS, Glue.SCALE, Glue.INPUT, Glue.ROW})
TEMPLATES: dict[Glue, str] = {
    Glue.NONE: "{y}", Glue.BIAS: "{y} + {t}", Glue.SCALE: "{y} * {t}", Glue.RESIDUAL: "{x} + {y}",
    Glue.INPUT: "{y} + {t}", Glue.ROW: "{y} * {t}", Glue.SCALAR: "{amount} * {y}",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """An operator; or two that are given the same tensor, and whose answers are multiplied or added."""

    seeds: tuple[Seed, ...]  # one or two
    draws: tuple[int, ...]  # what each one's sizes are drawn by
    joint: str = "*"  # between two
    glue: Glue = Glue.NONE
    amount: float = 1.0  # of Glue.SCALAR
    has_parameters: bool = False  # tensors that do not grow with the batch become parameters

    @property
    def names(self) -> tuple[str, ...]:
        """Of the operators, as one would import them."""
        return tuple(seed.provenance.name for seed in self.seeds)

    def blocks(self, shape: Shape, *, is_first: bool = False) -> tuple[Block, ...] | None:
        """The seeds on an x of `shape`; None if one does not take it. The same in every call."""
        found = []
        for seed, draw in zip(self.seeds, self.draws, strict=True):
            make = seed.standalone if is_first and isinstance(seed, StandsAlone) else seed.block
            try:
                block = make(shape, random.Random(draw))
            except ValueError:  # a size came out below one
                return None
            if block is None:
                return None
            found.append(block)
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A stack that ran on small shapes."""

    layout: Layout
    stages: tuple[Stage, ...]

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of all operators in order."""
        return tuple(name for stage in self.stages for name in stage.names)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of all operators in order."""
        return tuple(seed.kind for stage in self.stages for seed in stage.seeds)

    @property
    def has_channels(self) -> bool:
        """Whether the second size is the one that parameters are broadcast along."""
        return "channels" in self.layout.names


def arguments_of(blocks: Sequence[Block]) -> tuple[Argument, ...]:
    """Tensors beside x, of all blocks in order."""
    return tuple(argument for block in blocks for argument in block.arguments)


def glue_shape(stage: Stage, shape: Shape, *, has_channels: bool) -> Shape:
    """The shape of the tensor that is put to an answer of `shape`."""
    if stage.glue is Glue.INPUT:
        return shape
    if has_channels and len(shape) > 2:
        return (shape[1], *(1,) * (len(shape) - 2))
    return shape[-1:]


def filled(text: str, *, x: str, attribute: str, tensors: Sequence[str] = ()) -> str:
    """A block's text with names for what is open."""
    names = {"self": "self", "name": attribute, "x": x}
    return HOLE.sub(lambda hole: names[hole[1]] if hole[1] else tensors[int(hole[2])], text)


def core_text(
    stage: Stage, blocks: Sequence[Block], *, x: str, attributes: Sequence[str], tensors: Sequence[str]
) -> str:
    """The stage as one expression, without its glue; `tensors` names the arguments of all blocks in order."""
    texts, start = [], 0
    for block, attribute in zip(blocks, attributes, strict=True):
        end = start + len(block.arguments)
        text = filled(block.forward, x=x, attribute=attribute, tensors=tensors[start:end])
        texts.append(text if len(blocks) == 1 else _atom(text))
        start = end
    return f" {stage.joint} ".join(texts)


def glued_text(stage: Stage, core: str, *, x: str, tensor: str = "") -> str:
    """`core` with the stage's glue; `tensor` names the tensor that the glue takes."""
    if stage.glue is Glue.NONE:
        return core
    return TEMPLATES[stage.glue].format(y=_atom(core), x=x, t=tensor, amount=stage.amount)


@cache
def _atom(text: str) -> str:
    """`text`, in parentheses unless it binds tighter than arithmetic does."""
    node = ast.parse(text, mode="eval").body
    return text if isinstance(node, ast.Call | ast.Subscript | ast.Attribute | ast.Name) else f"({text})"
