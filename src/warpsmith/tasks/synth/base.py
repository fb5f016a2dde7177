"""The nouns of synthesis: a seed operator, what it becomes on a given shape, and a task that was made."""

import random
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from warpsmith.core import Task

Shape = tuple[int, ...]


class Domain(StrEnum):
    """From which numbers an argument is drawn, so that the operator's answer stays finite."""

    NORMAL = "normal"
    UNIT = "unit"  # [0, 1)
    POSITIVE = "positive"  # away from zero
    SIGNED_UNIT = "signed unit"  # (-1, 1)
    PROBABILITY = "probability"  # positive, sums to one along the last dimension
    POSITIVE_DEFINITE = "positive definite"  # symmetric matrices
    INDEX = "index"  # integers below `bound`
    MASK = "mask"  # truth values


class Kind(StrEnum):
    """What an operator does, for curricula and mixing."""

    ELEMENTWISE = "elementwise"
    BINARY = "binary"  # of two tensors, broadcast
    REDUCTION = "reduction"
    NORM = "norm"
    SOFTMAX = "softmax"
    SCAN = "scan"
    GEMM = "gemm"
    CONVOLUTION = "convolution"
    POOLING = "pooling"
    LOSS = "loss"
    INDEXING = "indexing"  # gather, embedding, sort, top-k
    SHAPE = "shape"  # views, pads, concatenations
    LINALG = "linalg"
    RECURRENT = "recurrent"
    LAYER = "layer"  # composite: attention, MLP, a module of transformers


class Curriculum(StrEnum):
    """Sets of increasing difficulty."""

    ELEMENTWISE = "elementwise"
    FUSED = "fused"
    REDUCTIONS = "reductions and norms"
    GEMM_EPILOGUES = "gemm epilogues"
    CONVOLUTIONS = "convolutions"
    LAYERS = "layers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Whose operator it is."""

    library: str  # "torch", "transformers"
    version: str
    licence: str
    name: str  # as one would import it: "torch.nn.functional.gelu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A tensor that forward is given."""

    shape: Shape
    dtype: str = "float32"
    domain: Domain = Domain.NORMAL
    bound: int = 0  # for Domain.INDEX


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A seed on one shape: text to put into a Model, in terms of `{self}`, `{x}` and `{argument0}`, ….

    `init` are statements for __init__ that set attributes of `{self}` under names that begin with `{name}`;
    `forward` is one expression. What shape it gives is found on the meta device.
    """

    init: tuple[str, ...] = ()
    forward: str
    arguments: tuple[Argument, ...] = ()  # beside x
    input: Argument  # what x must be
    imports: tuple[str, ...] = ()  # whole import statements, beyond torch and torch.nn


class Seed(Protocol):
    """One operator."""

    @property
    def provenance(self) -> Provenance: ...

    @property
    def kind(self) -> Kind: ...

    def block(self, shape: Shape, rng: random.Random) -> Block | None:
        """What it becomes on a floating-point x of `shape`; None if it does not take such an x."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A task that was made, with what is known of its making."""

    task: Task
    operators: tuple[str, ...]  # in order, as provenance names them
    depth: int  # how many are stacked
    structure: str  # equal for tasks that differ in sizes alone
    curriculum: Curriculum | None = None
    split: str = ""  # "train", "validation" or "test", as similarity.divided deals them
    source: str = ""  # "torch#2", "transformers": Ops-6K's data_source
    facts: dict[str, str] = field(default_factory=dict)  # what filters found, by name
