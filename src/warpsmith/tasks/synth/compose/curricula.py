"""Curricula: which kinds of operators stand where, and which curriculum a stack belongs to."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.tasks.synth.base import Curriculum, Kind

Kinds = frozenset[Kind]

POINTWISE: Kinds = frozenset({Kind.ELEMENTWISE, Kind.BINARY})
REDUCING: Kinds = frozenset({Kind.REDUCTION, Kind.NORM, Kind.SOFTMAX, Kind.SCAN, Kind.POOLING, Kind.LOSS})
COMPOSITE: Kinds = frozenset({Kind.LAYER, Kind.RECURRENT})
PRODUCTS: Kinds = frozenset({Kind.GEMM, Kind.CONVOLUTION})
LINE_WISE: Kinds = frozenset({Kind.REDUCTION, Kind.NORM, Kind.SOFTMAX})

WEIGHTS: dict[Kind, float] = {
    Kind.ELEMENTWISE: 26, Kind.BINARY: 12, Kind.REDUCTION: 8, Kind.NORM: 10, Kind.SOFTMAX: 5, Kind.SCAN: 3,
    Kind.GEMM: 14, Kind.CONVOLUTION: 10, Kind.POOLING: 5, Kind.LOSS: 2, Kind.INDEXING: 4, Kind.SHAPE: 5,
    Kind.LINALG: 2, Kind.RECURRENT: 1, Kind.LAYER: 2,
}  # fmt: skip
"""How often an operator of a kind is drawn. Else the many special functions would be most of the set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A curriculum: `first` once, at the beginning or after one of `rest`, which fills the other places."""

    first: Kinds
    rest: Kinds
    least: int
    most: int
    later_percent: int = 0  # how often `first` is not the beginning


COURSES: dict[Curriculum, Course] = {
    Curriculum.ELEMENTWISE: Course(first=POINTWISE, rest=POINTWISE, least=1, most=2),
    Curriculum.FUSED: Course(first=POINTWISE, rest=POINTWISE, least=3, most=5),
    Curriculum.REDUCTIONS: Course(
        first=REDUCING, rest=POINTWISE | LINE_WISE, least=1, most=5, later_percent=50
    ),
    Curriculum.GEMM_EPILOGUES: Course(
        first=frozenset({Kind.GEMM}), rest=POINTWISE | LINE_WISE, least=2, most=5, later_percent=15
    ),
    Curriculum.CONVOLUTIONS: Course(
        first=frozenset({Kind.CONVOLUTION}),
        rest=POINTWISE | {Kind.NORM, Kind.POOLING},
        least=2,
        most=5,
        later_percent=15,
    ),
    Curriculum.LAYERS: Course(first=COMPOSITE, rest=POINTWISE | LINE_WISE | {Kind.GEMM}, least=1, most=5),
}


def places(curriculum: Curriculum | None, depth: int, rng: random.Random) -> list[Kinds]:
    """The kinds that may stand in each of `depth` places."""
    if curriculum is None:
        return [frozenset(Kind)] * depth
    course = COURSES[curriculum]
    found = [course.rest] * depth
    is_later = depth > 1 and rng.randrange(100) < course.later_percent
    found[1 if is_later else 0] = course.first
    return found


def classified(kinds: Sequence[Kind]) -> Curriculum | None:
    """Where a stack of these kinds belongs; None if it is mostly of moves, look-ups or linear algebra."""
    there = set(kinds)
    if there & COMPOSITE or sum(kind in PRODUCTS for kind in kinds) > 1:
        return Curriculum.LAYERS
    if Kind.CONVOLUTION in there:
        return Curriculum.CONVOLUTIONS
    if Kind.GEMM in there:
        return Curriculum.GEMM_EPILOGUES
    if there <= POINTWISE:
        return Curriculum.FUSED if len(kinds) > 2 else Curriculum.ELEMENTWISE
    if there & REDUCING:
        return Curriculum.REDUCTIONS
    return None
