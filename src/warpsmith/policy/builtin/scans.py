"""Scans along an axis as one kind of node, which runs either way, with or without its own element.

Each function takes a call and returns what it computes, as in `lowering`. A scan of a flipped tensor is the
flipped scan that runs backwards; so what flips before and after is one scan, and copies nothing.
"""

import math
from dataclasses import replace

from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.builder import Builder
from warpsmith.policy.builtin.call import Call, Lowering
from warpsmith.policy.builtin.graph import Node, Operand, View

# What a scan of nothing gives.
STARTS: dict[str, float] = {
    "cumsum": 0.0,
    "cumprod": 1.0,
    "logcumsumexp": -math.inf,
    "cummax": -math.inf,
    "cummin": math.inf,
}


def exclusive(builder: Builder, pieces: tuple[Operand, ...], axis: int) -> View | None:
    """A scan's start joined to the scan of all elements but one, as the scan before each element; else None.

    That reads one element more than the scan did: for nothing, but it must lie there.
    """
    if len(pieces) != 2:
        return None
    is_last = not isinstance(pieces[1], View)
    number, view = pieces[::-1] if is_last else pieces
    node = _scan_of(builder, view)
    if node is None or not isinstance(view, View) or not isinstance(number, bool | int | float):
        return None
    runs_along = node.attributes["axis"] == axis and node.attributes["is_reversed"] is is_last
    if not runs_along or node.attributes["is_exclusive"] or number != STARTS[node.op]:
        return None
    wider = _widened(node.views[0], axis, at_front=is_last)
    running = _running(axis, is_reversed=is_last, is_exclusive=True)
    return _scan(builder, node.op, wider, view.dtype, running) if wider else None


def _lowered(builder: Builder, call: Call) -> View:
    view, axis = call.view(), call.axis()
    if not view.shape or view.shape[axis] <= 1:
        return builder.pointwise("copy", view, shape=call.shape, dtype=call.dtype)
    if view.strides[axis] >= 0:
        return _scan(builder, call.op, view, call.dtype, _running(axis))
    running = _running(axis, is_reversed=True)
    return views.flip(_scan(builder, call.op, views.flip(view, (axis,)), call.dtype, running), (axis,))


def _with_places(builder: Builder, call: Call) -> Operand:
    """The largest or smallest so far; where it was found is another node, which no recipe has."""
    (places,) = builder.node(f"{call.op}_places", tuple(call.arguments.values()), (call.results[1],))
    return _lowered(builder, call), places


def _scan(builder: Builder, op: str, view: View, dtype: str, running: dict[str, Operand]) -> View:
    (result,) = builder.node(op, (view,), ((view.shape, dtype),), running)
    return result


def _running(axis: int, *, is_reversed: bool = False, is_exclusive: bool = False) -> dict[str, Operand]:
    """The attributes of a scan's node."""
    return {"axis": axis, "is_reversed": is_reversed, "is_exclusive": is_exclusive}


def _scan_of(builder: Builder, operand: Operand) -> Node | None:
    """The scan whose whole result `operand` is."""
    if not isinstance(operand, View) or operand != View.whole(operand.value):
        return None
    made = (node for node in builder.nodes if operand.value in node.outputs)
    return next((node for node in made if node.op in STARTS), None)


def _widened(view: View, axis: int, *, at_front: bool) -> View | None:
    """One entry more along `axis`, if the value has one there."""
    step = view.strides[axis]
    shape = tuple(size + (k == axis) for k, size in enumerate(view.shape))
    wider = replace(view, shape=shape, offset=view.offset - step * at_front)
    last = wider.offset + sum((size - 1) * stride for size, stride in zip(shape, view.strides, strict=True))
    is_inside = wider.offset >= 0 and last < view.value.numel and min(view.strides) >= 0
    return wider if is_inside else None


LOWERINGS: dict[str, Lowering] = {
    "cumsum": _lowered,
    "cumprod": _lowered,
    "logcumsumexp": _lowered,
    "cummax": _with_places,
    "cummin": _with_places,
}
