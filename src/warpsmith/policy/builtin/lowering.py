"""ATen's operators in terms of few: pointwise ones, reductions over axes, gathers and matrix products.

Each function takes the call as it stands in the traced program and returns what it computes: views, numbers,
or a tuple of them for an operator with several results. An operator without one stays as it is, for a recipe
to match or for the plan to decline.
"""

from dataclasses import replace

from warpsmith.policy.builtin import (
    assemblies,
    attentions,
    lookups,
    poolings,
    products,
    recurrences,
    reductions,
    scans,
    views,
)
from warpsmith.policy.builtin.builder import Builder
from warpsmith.policy.builtin.call import Call, Lowering
from warpsmith.policy.builtin.graph import Number, Operand, Shortcut, View
from warpsmith.policy.builtin.operators import OPERATORS

FLOATING = ("float16", "bfloat16", "float32", "float64")


def lower(builder: Builder, call: Call) -> Operand:
    """What `call` computes, as nodes added to `builder`."""
    first = next(iter(call.arguments.values()), None)
    if call.op in OF_A_NUMBER and isinstance(first, bool | int | float):
        return _number(first, call.dtype)
    if call.op in LOWERINGS:
        return LOWERINGS[call.op](builder, call)
    if call.op in OPERATORS:
        return _pointwise(builder, call)
    inputs = tuple(
        builder.in_order(operand) if isinstance(operand, View) and views.is_flipped(operand) else operand
        for operand in call.arguments.values()
    )
    outputs = builder.node(call.op, inputs, call.results)
    return outputs[0] if len(outputs) == 1 else outputs


# Pointwise


def _pointwise(builder: Builder, call: Call) -> View:
    operands = [
        operand for operand in call.arguments.values() if isinstance(operand, View | bool | int | float)
    ]
    return builder.pointwise(call.op, *operands, shape=call.shape, dtype=call.dtype)


def _scaled_sum(builder: Builder, call: Call) -> View:
    """Add and sub: self ± alpha * other."""
    other, alpha = call.scalar("other"), call.arguments.get("alpha", 1)
    assert isinstance(alpha, int | float)
    if alpha != 1:
        other = (
            builder.pointwise("mul", other, alpha, shape=call.shape, dtype=call.dtype)
            if isinstance(other, View)
            else other * alpha
        )
    return builder.pointwise(call.op, call.scalar("self"), other, shape=call.shape, dtype=call.dtype)


def _reversed_difference(builder: Builder, call: Call) -> View:
    assert call.arguments.get("alpha", 1) == 1
    return builder.pointwise("sub", call.scalar("other"), call.view(), shape=call.shape, dtype=call.dtype)


def _division(builder: Builder, call: Call) -> View:
    quotient = builder.pointwise(
        "div", call.scalar("self"), call.scalar("other"), shape=call.shape, dtype=call.dtype
    )
    mode = call.arguments.get("rounding_mode")
    return builder.pointwise(str(mode), quotient, shape=call.shape, dtype=call.dtype) if mode else quotient


def _power(builder: Builder, call: Call) -> View | Number:
    exponent = call.scalar("exponent")
    base = call.scalar("self")
    if isinstance(exponent, int | float) and isinstance(base, View):
        simple = {0.5: "sqrt", 1.0: "copy", 2.0: "square", 3.0: "cube", -0.5: "rsqrt", -1.0: "reciprocal"}
        is_floating = call.dtype in FLOATING
        if exponent in simple and (is_floating or exponent in (1, 2, 3)):
            return builder.pointwise(simple[float(exponent)], base, shape=call.shape, dtype=call.dtype)
    return builder.pointwise("pow", base, exponent, shape=call.shape, dtype=call.dtype)


def _gelu(builder: Builder, call: Call) -> View:
    op = "gelu_tanh" if call.arguments["approximate"] == "tanh" else "gelu_erf"
    return builder.pointwise(op, call.view(), shape=call.shape, dtype=call.dtype)


def _clamp(builder: Builder, call: Call) -> View:
    bounds = {"maximum": ("min", "min_val"), "minimum": ("max", "max_val")}
    result = call.view()
    for op, names in bounds.items():
        bound = next((call.arguments[name] for name in names if name in call.arguments), None)
        if bound is not None:
            assert isinstance(bound, View | bool | int | float)
            result = builder.pointwise(op, result, bound, shape=call.shape, dtype=call.dtype)
    return result


def _copy(builder: Builder, call: Call) -> View:
    view = call.view()
    if view.dtype == call.dtype:
        return view
    return builder.pointwise("copy", view, shape=call.shape, dtype=call.dtype)


def _overwrite(builder: Builder, call: Call) -> View:
    """copy: the values of `src`, in the shape and dtype of `self`."""
    source = call.scalar("src")
    return builder.pointwise("copy", source, shape=call.shape, dtype=call.dtype)


def _filled(_builder: Builder, call: Call) -> Number:
    """full, full_like, fill, scalar_tensor: a number is its own broadcast."""
    name = next(name for name in ("fill_value", "value", "s") if name in call.arguments)
    number = call.arguments[name]
    assert isinstance(number, bool | int | float), f"{call.op}: {name} is {number!r}"
    return _number(number, call.dtype)


def _drawn(builder: Builder, _call: Call) -> Number:
    """randn: what is drawn in forward can only be forgotten, as a recurrent net forgets its first state."""
    builder.shortcuts.append(Shortcut.MEAN_OF_RANDOM)
    return 0.0


def _arange(builder: Builder, call: Call) -> View:
    first, step = call.arguments.get("start", 0), call.arguments.get("step", 1)
    assert isinstance(first, int | float)
    assert isinstance(step, int | float)
    return builder.progression(first, step, call.shape[0], call.dtype)


def _number(number: Number, dtype: str) -> Number:
    """`number` as one element of a tensor of `dtype`."""
    if dtype in FLOATING:
        return float(number)
    return bool(number) if dtype == "bool" else int(number)


def _elu(builder: Builder, call: Call) -> View:
    """What is scale * (x if x > 0 else alpha * expm1(input_scale * x))."""
    alpha, scale, input_scale = (call.real(name) for name in ("alpha", "scale", "input_scale"))

    def each(op: str, *operands: View | Number) -> View:
        return builder.pointwise(op, *operands, shape=call.shape, dtype=call.dtype)

    def scaled(view: View, factor: float) -> View:
        return view if factor == 1 else each("mul", view, factor)

    x = call.view()
    is_positive = builder.pointwise("gt", x, 0, shape=call.shape, dtype="bool")
    below = scaled(each("expm1", scaled(x, input_scale)), alpha * scale)
    return each("where", is_positive, scaled(x, scale), below)


# Views


def _same(_builder: Builder, call: Call) -> Operand:
    return next(iter(call.arguments.values()))


def _reshape(builder: Builder, call: Call) -> View:
    return builder.reshape(call.view(), call.shape)


def _expand(_builder: Builder, call: Call) -> View:
    return views.expand(call.view(), call.shape)


def _permute(_builder: Builder, call: Call) -> View:
    rank = len(call.view().shape)
    return views.permute(call.view(), tuple(axis % rank for axis in call.integers("dims")))


def _transpose(_builder: Builder, call: Call) -> View:
    rank = len(call.view().shape)
    order = list(range(rank))
    if rank > 1:
        first = call.integer("dim0") % rank if "dim0" in call.arguments else 0
        second = call.integer("dim1") % rank if "dim1" in call.arguments else 1
        order[first], order[second] = order[second], order[first]
    return views.permute(call.view(), tuple(order))


def _unsqueeze(_builder: Builder, call: Call) -> View:
    return views.with_axis(call.view(), call.integer("dim") % (len(call.view().shape) + 1))


def _slice(_builder: Builder, call: Call) -> View:
    axis = call.axis()
    start = call.arguments.get("start") or 0
    assert isinstance(start, int)
    size = call.view().shape[axis]
    first = min(max(start + size if start < 0 else start, 0), size)
    return views.cut(call.view(), axis, first, call.shape[axis], call.integer("step"))


def _select(_builder: Builder, call: Call) -> View:
    axis = call.axis()
    index = call.integer("index") % call.view().shape[axis]
    return views.without_axis(views.cut(call.view(), axis, index, 1), axis)


def _unfold(_builder: Builder, call: Call) -> View:
    """Windows along an axis, as a new last axis; they may overlap, for nothing is copied."""
    view = call.view()
    axis = call.integer("dimension") % len(view.shape)
    size, step = call.integer("size"), call.integer("step")
    windows = views.cut(view, axis, 0, call.shape[axis], step)
    return replace(windows, shape=(*windows.shape, size), strides=(*windows.strides, view.strides[axis]))


def _as_strided(_builder: Builder, call: Call) -> View:
    """Strides over the storage: known where the argument is all of its value, as it lies."""
    view = call.view()
    assert view.is_in_order, "of a view"
    offset = call.arguments["storage_offset"] or 0
    assert isinstance(offset, int)
    return View(value=view.value, shape=call.shape, strides=call.integers("stride"), offset=offset)


def _split(_builder: Builder, call: Call) -> tuple[View, ...]:
    axis = call.axis()
    pieces: list[View] = []
    start = 0
    for shape, _ in call.results:
        pieces.append(views.cut(call.view(), axis, start, shape[axis]))
        start += shape[axis]
    return tuple(pieces)


def _flip(_builder: Builder, call: Call) -> View:
    rank = len(call.view().shape)
    return views.flip(call.view(), tuple(axis % rank for axis in call.integers("dims")))


def _repeat(builder: Builder, call: Call) -> View:
    view, times = call.view(), call.integers("repeats")
    sizes = (1,) * (len(times) - len(view.shape)) + view.shape
    split = builder.reshape(view, tuple(n for size in sizes for n in (1, size)))
    wide = views.expand(split, tuple(n for k, size in zip(times, sizes, strict=True) for n in (k, size)))
    return builder.reshape(wide, call.shape)


def _nearest(builder: Builder, call: Call) -> View:
    """The nearest element, where sizes grow by whole factors: then each stands several times in a row.

    The source's index is floor(i / scale) by the scale that was given, which says more than the sizes do.
    """
    view = next(operand for operand in call.arguments.values() if isinstance(operand, View))
    (batch, channels, *sizes), grown = view.shape, call.shape[2:]
    times = tuple(n // size for n, size in zip(grown, sizes, strict=True))
    scales = [one for name, one in call.arguments.items() if name.startswith("scale")]
    given = [number for one in scales for number in (one if isinstance(one, tuple) else (one,))]
    asked = given if any(given) else times
    assert tuple(asked) == times == tuple(n / size for n, size in zip(grown, sizes, strict=True)), (
        "by a fraction"
    )
    split = builder.reshape(view, (batch, channels, *(n for size in sizes for n in (size, 1))))
    pairs = (n for size, k in zip(sizes, times, strict=True) for n in (size, k))
    return builder.reshape(views.expand(split, (batch, channels, *pairs)), call.shape)


# Products and gathers


def _convolution(builder: Builder, call: Call) -> View:
    """Kept as a node whose operands lie in order."""
    inputs = tuple(
        builder.in_order(operand) if isinstance(operand, View) else operand
        for operand in call.arguments.values()
    )
    (result,) = builder.node(call.op, inputs, call.results)
    return result


def _gather(builder: Builder, call: Call) -> View:
    """Kept as a node: `self`, the axis, and an index that lies in order."""
    index = builder.in_order(call.view("index"))
    (result,) = builder.node("gather", (call.view(), call.axis(), index), call.results)
    return result


# A number is its own view, copy and broadcast.
# fmt: off
OF_A_NUMBER = frozenset((
    "_to_copy", "clone", "alias", "detach", "lift_fresh_copy", "view", "reshape", "squeeze", "unsqueeze",
    "expand", "permute", "repeat",
))
# fmt: on

LOWERINGS: dict[str, Lowering] = {
    "add": _scaled_sum,
    "sub": _scaled_sum,
    "rsub": _reversed_difference,
    "div": _division,
    "pow": _power,
    "gelu": _gelu,
    "elu": _elu,
    "clamp": _clamp,
    "clamp_min": _clamp,
    "clamp_max": _clamp,
    "hardtanh": _clamp,
    "_to_copy": _copy,
    "clone": _copy,
    "copy": _overwrite,
    "alias": _same,
    "detach": _same,
    "lift_fresh_copy": _same,
    "randn": _drawn,
    "full": _filled,
    "full_like": _filled,
    "fill": _filled,
    "scalar_tensor": _filled,
    "arange": _arange,
    "view": _reshape,
    "reshape": _reshape,
    "_unsafe_view": _reshape,
    "squeeze": _reshape,
    "expand": _expand,
    "permute": _permute,
    "transpose": _transpose,
    "t": _transpose,
    "unsqueeze": _unsqueeze,
    "slice": _slice,
    "unfold": _unfold,
    "as_strided": _as_strided,
    "select": _select,
    "split": _split,
    "split_with_sizes": _split,
    "repeat": _repeat,
    "flip": _flip,
    "upsample_nearest1d": _nearest,
    "upsample_nearest2d": _nearest,
    "upsample_nearest3d": _nearest,
    **reductions.LOWERINGS,
    **scans.LOWERINGS,
    **assemblies.LOWERINGS,
    **poolings.LOWERINGS,
    **recurrences.LOWERINGS,
    **attentions.LOWERINGS,
    **lookups.LOWERINGS,
    **products.LOWERINGS,
    "gather": _gather,
    "convolution": _convolution,
}
