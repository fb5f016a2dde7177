"""Reading without copying: each function gives the view that a PyTorch view operator would, as strides."""

import math
from dataclasses import replace
from functools import lru_cache

from warpsmith.policy.builtin.graph import Shape, View, contiguous_strides


def expand(view: View, shape: Shape) -> View:
    """Broadcast to `shape`: new leading axes and axes of size 1 get stride 0; -1 keeps an axis."""
    missing = len(shape) - len(view.shape)
    sizes = (1,) * missing + view.shape
    strides = (0,) * missing + view.strides
    wanted = tuple(n if n >= 0 else sizes[axis] for axis, n in enumerate(shape))
    kept = tuple(
        0 if old == 1 and new != 1 else stride
        for old, new, stride in zip(sizes, wanted, strides, strict=True)
    )
    return replace(view, shape=wanted, strides=kept)


def permute(view: View, order: tuple[int, ...]) -> View:
    """Axis k of the result is axis `order[k]` of `view`."""
    return replace(
        view,
        shape=tuple(view.shape[axis] for axis in order),
        strides=tuple(view.strides[axis] for axis in order),
    )


def cut(view: View, axis: int, start: int, length: int, step: int = 1) -> View:
    """`length` entries along `axis`, from `start`, every `step`-th."""
    shape, strides = list(view.shape), list(view.strides)
    offset = view.offset + start * strides[axis]
    shape[axis], strides[axis] = length, strides[axis] * step
    return replace(view, shape=tuple(shape), strides=tuple(strides), offset=offset)


def flip(view: View, axes: tuple[int, ...]) -> View:
    """`axes` walked from their ends: negative strides, which no tensor of PyTorch's has."""
    ends = sum((view.shape[axis] - 1) * view.strides[axis] for axis in axes)
    strides = tuple(-stride if axis in axes else stride for axis, stride in enumerate(view.strides))
    return replace(view, strides=strides, offset=view.offset + ends)


def is_flipped(view: View) -> bool:
    """Whether an axis is walked from its end."""
    return any(stride < 0 for stride in view.strides)


def without_axis(view: View, axis: int) -> View:
    """Entry 0 along `axis`; what squeeze does where the axis has size 1."""
    return replace(view, shape=_without(view.shape, axis), strides=_without(view.strides, axis))


def with_axis(view: View, axis: int) -> View:
    """A new axis of size 1 before `axis`."""
    return replace(
        view,
        shape=(*view.shape[:axis], 1, *view.shape[axis:]),
        strides=(*view.strides[:axis], 0, *view.strides[axis:]),
    )


def is_contiguous(view: View) -> bool:
    """Whether the elements lie side by side in their order, wherever the first of them lies."""
    expected = contiguous_strides(view.shape)
    return all(s == e for n, s, e in zip(view.shape, view.strides, expected, strict=True) if n != 1)


@lru_cache(maxsize=1 << 14)  # a plan asks for the same few again and again
def reshape(view: View, shape: Shape) -> View | None:
    """The same elements in the same order under another shape; None where that takes a copy."""
    if math.prod(shape) == 0:
        return replace(view, shape=shape, strides=contiguous_strides(shape))
    runs = _runs(view)
    strides: list[int] = []
    for size in reversed(shape):
        if size == 1:
            strides.append(0)
            continue
        if not runs:
            return None
        length, stride = runs.pop()
        if length % size:
            return None
        strides.append(stride)
        if length > size:
            runs.append((length // size, stride * size))
    return replace(view, shape=shape, strides=tuple(reversed(strides)))


def collapse(shape: Shape, *all_strides: tuple[int, ...]) -> tuple[Shape, tuple[tuple[int, ...], ...]]:
    """The fewest axes over which all of `all_strides` walk the same way; axes of size 1 vanish.

    >>> collapse((2, 3, 4), (12, 4, 1), (0, 4, 1))
    ((2, 12), ((12, 1), (0, 1)))
    """
    sizes: list[int] = []
    columns: list[tuple[int, ...]] = []
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        column = tuple(strides[axis] for strides in all_strides)
        if sizes and all(outer == inner * size for outer, inner in zip(columns[-1], column, strict=True)):
            sizes[-1] *= size
            columns[-1] = column
        else:
            sizes.append(size)
            columns.append(column)
    return tuple(sizes), tuple(tuple(column[k] for column in columns) for k in range(len(all_strides)))


def _runs(view: View) -> list[tuple[int, int]]:
    """(length, stride) of the longest evenly spaced stretches, outermost first."""
    sizes, (strides,) = collapse(view.shape, view.strides)
    return list(zip(sizes, strides, strict=True))


def _without(items: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*items[:axis], *items[axis + 1 :])
