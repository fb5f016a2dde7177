"""Tensors put together from others: cat, stack, pad, roll and writing into a slice are one kind of node.

An `assemble` node has pieces as inputs, views or numbers, and for each the box of the output that it fills
(attributes `starts` and `sizes`). The boxes cover the output once. Each function takes a call and returns
what it computes, as in `lowering`.
"""

from warpsmith.policy.builtin import scans, views
from warpsmith.policy.builtin.builder import Builder
from warpsmith.policy.builtin.call import Call, Lowering
from warpsmith.policy.builtin.graph import Number, Operand, Shape, View

Piece = View | Number


def _cat(builder: Builder, call: Call) -> View:
    axis = _result_axis(call)
    pieces = _pieces(call)
    scanned = scans.exclusive(builder, pieces, axis)
    return scanned or _joined(builder, call, pieces, axis)


def _stack(builder: Builder, call: Call) -> View:
    axis = _result_axis(call)
    pieces = tuple(
        views.with_axis(piece, axis) if isinstance(piece, View) else piece for piece in _pieces(call)
    )
    return _joined(builder, call, pieces, axis)


def _pad(builder: Builder, call: Call) -> View:
    """constant_pad_nd: pairs from the last axis on, before and after; a negative one cuts."""
    pads, value, view = call.integers("pad"), call.scalar("value"), call.view()
    for k, (before, after) in enumerate(zip(pads[::2], pads[1::2], strict=True)):
        axis = len(view.shape) - 1 - k
        view = views.cut(view, axis, max(-before, 0), view.shape[axis] + min(before, 0) + min(after, 0))
    starts = [0] * len(view.shape)
    for k, before in enumerate(pads[::2]):
        starts[len(starts) - 1 - k] = max(before, 0)
    inner = (tuple(starts), view.shape)
    boxes: list[tuple[Shape, Shape]] = [inner, *_around(call.shape, *inner)]
    return _assembled(builder, call, [view, *[value] * (len(boxes) - 1)], boxes)


def _slice_scatter(builder: Builder, call: Call) -> View:
    """`self` with a slice replaced by `src`."""
    assert call.integer("step") == 1, "step is not 1"
    axis, size = call.axis(), call.shape[call.axis()]
    start = min(max(_from_front(call.arguments["start"], 0, size), 0), size)
    source = call.view("src")
    return _replaced(builder, call, source, axis, start)


def _select_scatter(builder: Builder, call: Call) -> View:
    """`self` with one entry along an axis replaced by `src`."""
    axis = call.axis()
    source = views.with_axis(call.view("src"), axis)
    return _replaced(builder, call, source, axis, call.integer("index") % call.shape[axis])


def _roll(builder: Builder, call: Call) -> View:
    view, axes = call.view(), call.integers("dims")
    shifts = call.integers("shifts")
    flat = view if axes else builder.reshape(view, (view.numel,))
    for axis, shift in zip(axes or (0,), shifts, strict=True):
        size = flat.shape[axis]
        cut = -shift % size if size else 0
        if cut:
            parts = (views.cut(flat, axis, cut, size - cut), views.cut(flat, axis, 0, cut))
            flat = _joined(builder, call, parts, axis % len(flat.shape), flat.shape)
    return builder.reshape(flat, call.shape)


def _replaced(builder: Builder, call: Call, source: View, axis: int, start: int) -> View:
    view, size = call.view(), call.shape[axis]
    end = start + source.shape[axis]
    parts = (views.cut(view, axis, 0, start), source, views.cut(view, axis, end, size - end))
    return _joined(builder, call, parts, axis)


def _joined(
    builder: Builder, call: Call, pieces: tuple[Piece, ...], axis: int, shape: Shape | None = None
) -> View:
    """`pieces` one after the other along `axis`. Of one number among them the size is what is left."""
    shape = shape or call.shape
    numbers = sum(not isinstance(piece, View) for piece in pieces)
    assert numbers <= 1, "several pieces are numbers"
    rest = shape[axis] - sum(piece.shape[axis] for piece in pieces if isinstance(piece, View))
    boxes: list[tuple[Shape, Shape]] = []
    position = 0
    for piece in pieces:
        size = piece.shape[axis] if isinstance(piece, View) else rest
        start = tuple(position if k == axis else 0 for k in range(len(shape)))
        boxes.append((start, (*shape[:axis], size, *shape[axis + 1 :])))
        position += size
    return _assembled(builder, call, list(pieces), boxes, shape)


def _assembled(
    builder: Builder,
    call: Call,
    pieces: list[Piece],
    boxes: list[tuple[Shape, Shape]],
    shape: Shape | None = None,
) -> View:
    filled = [(piece, box) for piece, box in zip(pieces, boxes, strict=True) if 0 not in box[1]]
    (first, *others) = filled
    if not others and isinstance(first[0], View):
        view = first[0]
        same = view.dtype == call.dtype
        return view if same else builder.pointwise("copy", view, shape=view.shape, dtype=call.dtype)
    (result,) = builder.node(
        "assemble",
        tuple(piece for piece, _ in filled),
        ((shape or call.shape, call.dtype),),
        {"starts": tuple(start for _, (start, _) in filled), "sizes": tuple(size for _, (_, size) in filled)},
    )
    return result


def _around(shape: Shape, starts: Shape, sizes: Shape) -> list[tuple[Shape, Shape]]:
    """Boxes that fill `shape` around an inner one: before and after it, axis by axis."""
    boxes: list[tuple[Shape, Shape]] = []
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        end = start + size
        for first, length in ((0, start), (end, shape[axis] - end)):
            corner = (*starts[:axis], first, *[0] * (len(shape) - axis - 1))
            boxes.append((corner, (*sizes[:axis], length, *shape[axis + 1 :])))
    return boxes


def _pieces(call: Call) -> tuple[Piece, ...]:
    given = call.arguments["tensors"]
    assert isinstance(given, tuple), f"tensors is {given!r}"
    pieces = tuple(piece for piece in given if isinstance(piece, View | bool | int | float))
    assert len(pieces) == len(given), "a piece is no tensor"
    rank = len(call.shape)
    # An empty vector joins with anything.
    return tuple(piece for piece in pieces if not _is_nothing(piece, rank))


def _is_nothing(piece: Piece, rank: int) -> bool:
    return isinstance(piece, View) and piece.shape == (0,) and rank != 1


def _result_axis(call: Call) -> int:
    return call.integer("dim") % len(call.shape)


def _from_front(place: Operand, default: int, size: int) -> int:
    if not isinstance(place, int):
        return default
    return place + size if place < 0 else place


LOWERINGS: dict[str, Lowering] = {
    "cat": _cat,
    "stack": _stack,
    "constant_pad_nd": _pad,
    "slice_scatter": _slice_scatter,
    "select_scatter": _select_scatter,
    "roll": _roll,
}
