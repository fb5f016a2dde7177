"""The space of a row kernel: rows, which are independent, times columns, over which is reduced.

Usually a matrix that lies row by row. A reduction over other than the last axes is the same space, walked
with other strides.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import Node, Shape, Value, View, contiguous_strides

REDUCTIONS = ("sum", "mean", "amax", "amin", "prod")


FEW_ROWS = 64
LONG_ROW = 65536
# Of rows that lie side by side a block has 32.
FEW_SIDES = 1024
LONG_SIDE = 2048


class Kind(StrEnum):
    """What an operand varies with."""

    FULL = "full"
    ROW = "row"
    COLUMN = "column"
    SCALAR = "scalar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """How one index walks an operand: it counts through `sizes`, which lie `strides` elements apart."""

    sizes: Shape
    strides: tuple[int, ...]

    @property
    def is_still(self) -> bool:
        """The operand does not vary with the index."""
        return not any(self.strides)

    @property
    def stride(self) -> int | None:
        """The elements between neighbours, if they are always the same."""
        if self.is_still:
            return 0
        return self.strides[0] if len(self.strides) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where element (row, column) of an operand lies."""

    rows: Steps
    cols: Steps
    offset: int

    @property
    def kind(self) -> Kind:
        if self.cols.is_still:
            return Kind.SCALAR if self.rows.is_still else Kind.ROW
        return Kind.COLUMN if self.rows.is_still else Kind.FULL

    def takes_vectors(self, width: int) -> bool:
        """Whether `width` neighbouring columns lie together, and aligned, in every row."""
        return self.cols.stride == 1 and not any(n % width for n in (*self.rows.strides, self.offset))


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """`pattern` alternates kept and reduced axes, as (is_reduced, size), neighbours of a kind merged."""

    pattern: tuple[tuple[bool, int], ...]

    @property
    def num_rows(self) -> int:
        return math.prod(size for is_reduced, size in self.pattern if not is_reduced)

    @property
    def num_cols(self) -> int:
        return math.prod(size for is_reduced, size in self.pattern if is_reduced)

    @property
    def shape(self) -> Shape:
        return tuple(size for _, size in self.pattern)

    @property
    def is_side_by_side(self) -> bool:
        """Neighbouring rows, not neighbouring columns, lie together: the last axis is kept."""
        return not self.pattern[-1][0]

    @property
    def is_few_long_rows(self) -> bool:
        """Too few rows to give each a block, and long enough to give it many: see `totals`."""
        few, long = (FEW_SIDES, LONG_SIDE) if self.is_side_by_side else (FEW_ROWS, LONG_ROW)
        return self.num_rows <= few and self.num_cols >= long

    def kind_of(self, value: Value) -> Kind | None:
        """What a value made inside the kernel is, by its size."""
        sizes = {self.num_rows * self.num_cols: Kind.FULL, self.num_rows: Kind.ROW}
        return sizes.get(value.numel)

    def access(self, view: View) -> Access | None:
        """How to read `view`, whose elements are the domain's in order; None where strides cannot say it."""
        walk = self._walk(view)
        if walk is None:
            return None
        rows, cols = (
            views.collapse(
                tuple(size for flag, size, _ in walk if flag is is_reduced),
                tuple(stride for flag, _, stride in walk if flag is is_reduced),
            )
            for is_reduced in (False, True)
        )
        return Access(
            rows=Steps(sizes=rows[0], strides=rows[1][0]),
            cols=Steps(sizes=cols[0], strides=cols[1][0]),
            offset=view.offset,
        )

    def row_access(self, view: View) -> Access:
        """How to read `view` with one element a row."""
        sizes, (strides,) = views.collapse(view.shape, view.strides)
        return Access(
            rows=Steps(sizes=sizes, strides=strides), cols=Steps(sizes=(), strides=()), offset=view.offset
        )

    def write_access(self) -> Access:
        """Where the elements of a full value go."""
        value_strides = contiguous_strides(self.shape)
        flags = [is_reduced for is_reduced, _ in self.pattern]
        parts = [
            [
                (size, step)
                for size, step, flag in zip(self.shape, value_strides, flags, strict=True)
                if flag is kind
            ]
            for kind in (False, True)
        ]
        rows, cols = (
            Steps(sizes=tuple(size for size, _ in part), strides=tuple(step for _, step in part))
            for part in parts
        )
        return Access(rows=rows, cols=cols, offset=0)

    def is_spread(self, view: View) -> bool:
        """Whether a full node's `view` of a row value repeats each row's element along its columns."""
        access = self.access(view)
        if access is None or not access.cols.is_still or view.offset:
            return False
        if self.num_rows == 1:
            return True
        return access.rows.stride == 1 and math.prod(access.rows.sizes) == self.num_rows

    def _walk(self, view: View) -> list[tuple[bool, int, int]] | None:
        """The axes of `view` as (is_reduced, size, stride), those cut in two that are partly so."""
        walk: list[tuple[bool, int, int]] = []
        parts = list(self.pattern)
        is_reduced, left = False, 1
        for axis_size, stride in zip(view.shape, view.strides, strict=True):
            size = axis_size
            while size > 1:
                if left == 1:
                    is_reduced, left = parts.pop(0)
                step = min(size, left)
                if left % step or size % step:
                    return None
                size, left = size // step, left // step
                walk.append((is_reduced, step, stride * size))
        return walk


def domain_of(node: Node) -> Domain:
    """The domain of a reduction or a gather."""
    view = node.views[0]
    if node.op == "gather":
        axes = {node.inputs[1]}
    else:
        named = node.attributes["axes"]
        axes = set(named) if isinstance(named, tuple) else set()
    pattern: list[tuple[bool, int]] = []
    for axis, size in enumerate(view.shape):
        if size == 1:
            continue
        if pattern and pattern[-1][0] == (axis in axes):
            pattern[-1] = (pattern[-1][0], pattern[-1][1] * size)
        else:
            pattern.append((axis in axes, size))
    return Domain(pattern=tuple(pattern))
