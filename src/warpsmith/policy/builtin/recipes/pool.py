"""Max and average pooling over one to three axes, with what is pointwise before and after.

Threads go along the width and combine their columns over depth and height first, each element of the input
read once for all rows that need it; then windows are combined along the width, in shared memory.
"""

import math
from collections.abc import Iterator
from functools import partial

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import ITEM_BYTES, Graph, Node, Shape, View
from warpsmith.policy.builtin.operators import COMPUTE_TYPES, OPERATORS
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.base import Group, Part, Variant
from warpsmith.policy.builtin.recipes.pool_geometry import Pooling, Tiling, read_pooling, tilings
from warpsmith.policy.builtin.recipes.pool_text import PoolText
from warpsmith.policy.builtin.recipes.wrapped import Wrapped, most_nodes, wrap

SIZES = ("lanes", "width", "vectors", "tall", "strips", "outs", "shift")


class Pool:
    """max_pool and avg_pool over one to three axes."""

    name = "pool"

    def match(self, graph: Graph, remaining: tuple[Node, ...]) -> Group | None:
        """The pooling among `remaining` with most pointwise nodes around it."""
        best = most_nodes(_wrapped_poolings(graph, remaining))
        return best.group(graph, recipe=Pool.name) if best else None

    def variants(self, group: Group, gpu: Gpu) -> tuple[Variant, ...]:
        del gpu
        return tuple(
            Variant(name=str(tiling), settings={name: getattr(tiling, name) for name in SIZES})
            for tiling in _tilings(_wrapped(group))
        )

    def emit(self, group: Group, variant: Variant) -> Part:
        wrapped = _wrapped(group)
        pooling = _pooling(wrapped.heart)
        tiling = Tiling(**{name: variant.number(name) for name in SIZES})
        kernel = PoolText(group=group, wrapped=wrapped, pooling=pooling, tiling=tiling)
        made = [text.allocation(value, group.inputs) for value in group.outputs]
        formula = ", ".join(node.op for node in group.nodes)
        window = " x ".join(str(axis.kernel) for axis in pooling.axes if axis.size > 1)
        return Part(
            file=f"kernels/{group.name}.cu",
            source=kernel.source(),
            forward=(*made, text.call(group.name, group.inputs, group.outputs, ())),
            note=f"{formula} over windows of {window or 1}, columns first, then along the width ({tiling}).",
        )


def _wrapped_poolings(graph: Graph, remaining: tuple[Node, ...]) -> Iterator[Wrapped]:
    for node in remaining:
        pooling = read_pooling(node)
        if pooling is None or not _is_covered(node, pooling):
            continue
        before = partial(_is_readable, node.views[0].shape, pooling)
        wrapped = wrap(graph, remaining, node, before=before, after=lambda _: True)
        if _tilings(wrapped):
            yield wrapped


def _is_covered(node: Node, pooling: Pooling) -> bool:
    is_floating = COMPUTE_TYPES[node.output.dtype] in ("float", "double")
    return is_floating and _is_walkable(node.views[0], pooling)


def _is_readable(shape: Shape, pooling: Pooling, node: Node) -> bool:
    """Whether `node` may be computed for every element of the input, some of them more than once."""
    overlaps = any(axis.span > axis.stride for axis in pooling.axes)
    if (overlaps and OPERATORS[node.op].is_costly) or node.output.numel != math.prod(shape):
        return False
    seen = [views.reshape(view, shape) for view in node.views]
    return all(view is not None and _is_walkable(view, pooling) for view in seen)


def _is_walkable(view: View, pooling: Pooling) -> bool:
    """Whether `view`, of the input's shape, is one number a plane, or lies so that offsets in a plane fit."""
    steps = view.strides[len(pooling.lead) :]
    sizes = view.shape[len(pooling.lead) :]
    reach = sum(abs(step) * (size - 1) for step, size in zip(steps, sizes, strict=True))
    return not reach or (reach < 2**31 and (steps[-1] != 0 or sizes[-1] == 1))


def _pooling(heart: Node) -> Pooling:
    pooling = read_pooling(heart)
    assert pooling is not None  # the match has looked
    return pooling


def _wrapped(group: Group) -> Wrapped:
    assert isinstance(group.details, Wrapped)
    return group.details


def _tilings(wrapped: Wrapped) -> tuple[Tiling, ...]:
    pooling = _pooling(wrapped.heart)
    item_bytes = 8 if COMPUTE_TYPES[wrapped.heart.output.dtype] == "double" else 4
    return tilings(pooling, _width(wrapped, pooling), item_bytes)


def _width(wrapped: Wrapped, pooling: Pooling) -> int:
    """Columns that a vector may have: all operands aligned in every row."""
    size, shape = pooling.axes[2].size, wrapped.heart.views[0].shape
    seen = [views.reshape(view, shape) for view in wrapped.operands((*wrapped.before, wrapped.heart))]
    walked = [view for view in seen if view is not None and any(view.strides[len(pooling.lead) :])]
    widest = min(4, 16 // max((ITEM_BYTES[view.dtype] for view in walked), default=4))
    return next(
        width
        for width in (4, 2, 1)
        if width <= widest and size % width == 0 and all(_is_aligned(view, width) for view in walked)
    )


def _is_aligned(view: View, width: int) -> bool:
    if view.strides[-1] != 1:
        return width == 1
    steps = (step for step, size in zip(view.strides[:-1], view.shape[:-1], strict=True) if size > 1)
    return not any(n % width for n in (view.offset, *steps))
