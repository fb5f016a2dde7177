"""Reductions over axes, and the norms and softmaxes that are made of them.

Each function takes a call and returns what it computes, as in `lowering`.
"""

import math

from warpsmith.policy.builtin.builder import Builder
from warpsmith.policy.builtin.call import Call, Lowering
from warpsmith.policy.builtin.graph import Number, Operand, Shape, View


def accumulator(dtype: str) -> str:
    """What sums over values of `dtype` are kept in."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def reduce(builder: Builder, op: str, view: View, axes: tuple[int, ...], dtype: str) -> View:
    """`op` over `axes`, which stay with size 1. Over axes of size 1 alone there is nothing to do."""
    long = tuple(axis for axis in axes if view.shape[axis] != 1)
    if not long:
        return view if view.dtype == dtype else builder.pointwise("copy", view, shape=view.shape, dtype=dtype)
    return builder.reduction(op, view, long, dtype)


def _reduction(builder: Builder, call: Call) -> View:
    op = {"max": "amax", "min": "amin"}.get(call.op, call.op)
    reduced = reduce(builder, op, call.view(), call.axes(), call.dtype)
    return builder.reshape(reduced, call.shape)


def _extremum(builder: Builder, call: Call) -> Operand:
    """Max and min, over everything or along an axis; there, the second result is where it was found."""
    if "dim" not in call.arguments:
        return _reduction(builder, call)
    values = _reduction(builder, call)
    return values, _place(builder, f"arg{call.op}", call.view(), call.axis(), call.results[1])


def _extremum_place(builder: Builder, call: Call) -> View:
    """Argmax and argmin; without an axis, the place among all elements in their order."""
    view = call.view()
    if call.arguments["dim"] is not None and view.shape:
        return _place(builder, call.op, view, call.axis(), call.results[0])
    return _place(builder, call.op, builder.reshape(view, (view.numel,)), 0, call.results[0])


def _place(builder: Builder, op: str, view: View, axis: int, result: tuple[Shape, str]) -> View:
    """Where along `axis` the extremum stands, as a reduction."""
    return builder.reshape(builder.reduction(op, view, (axis,), result[1]), result[0])


def _truth(builder: Builder, call: Call) -> View:
    """Any and all: the larger and the smaller of bools."""
    view = call.view()
    if view.dtype != "bool":
        view = builder.pointwise("ne", view, 0, shape=view.shape, dtype="bool")
    op = "amax" if call.op == "any" else "amin"
    return builder.reshape(reduce(builder, op, view, call.axes(), "bool"), call.shape)


def _variance(builder: Builder, call: Call) -> View:
    correction = call.arguments.get("correction")
    divisor_less = float(correction) if isinstance(correction, int | float) else 1.0
    _, variance = _mean_and_variance(builder, call.view(), call.axes(), divisor_less)
    return builder.reshape(as_dtype(builder, variance, call.dtype), call.shape)


def _mean_and_variance(
    builder: Builder, view: View, axes: tuple[int, ...], correction: float = 0.0
) -> tuple[View, View]:
    """The variance by the squared deviations from the mean: exact where one pass of squares cancels."""
    dtype = accumulator(view.dtype)
    mean = reduce(builder, "mean", view, axes, dtype)
    deviation = builder.pointwise("sub", view, mean, shape=view.shape, dtype=dtype)
    squares = builder.pointwise("square", deviation, shape=view.shape, dtype=dtype)
    num = math.prod(view.shape[axis] for axis in axes)
    if not correction:
        return mean, reduce(builder, "mean", squares, axes, dtype)
    total = reduce(builder, "sum", squares, axes, dtype)
    divisor = max(num - correction, 0.0)
    scale = 1.0 / divisor if divisor else math.inf
    return mean, builder.pointwise("mul", total, scale, shape=total.shape, dtype=dtype)


def _vector_norm(builder: Builder, call: Call) -> View:
    order, dtype, view = call.real("ord"), accumulator(call.dtype), call.view()

    def each(op: str, operand: View, *numbers: Number) -> View:
        return builder.pointwise(op, operand, *numbers, shape=operand.shape, dtype=dtype)

    if order == 2:
        norm = each("sqrt", reduce(builder, "sum", each("square", view), call.axes(), dtype))
    elif order in (math.inf, -math.inf):
        norm = reduce(builder, "amax" if order > 0 else "amin", each("abs", view), call.axes(), dtype)
    elif order == 1:
        norm = reduce(builder, "sum", each("abs", view), call.axes(), dtype)
    else:
        powers = each("pow", each("abs", view), order)
        norm = each("pow", reduce(builder, "sum", powers, call.axes(), dtype), 1.0 / order)
    return builder.reshape(as_dtype(builder, norm, call.dtype), call.shape)


def as_dtype(builder: Builder, view: View, dtype: str) -> View:
    """`view`, converted if it has another dtype."""
    return view if view.dtype == dtype else builder.pointwise("copy", view, shape=view.shape, dtype=dtype)


# Norms and softmax


def _softmax(builder: Builder, call: Call) -> View:
    return softmax(builder, call.view(), call.axis(), call.dtype)


def softmax(builder: Builder, view: View, axis: int, dtype: str) -> View:
    """Of `view` along `axis`, as `dtype`."""
    _, exponentials, total = _exponentials(builder, view, axis, dtype)
    result = builder.pointwise("div", exponentials, total, shape=view.shape, dtype=accumulator(dtype))
    return as_dtype(builder, result, dtype)


def _log_softmax(builder: Builder, call: Call) -> View:
    shifted, _, total = _exponentials(builder, call.view(), call.axis(), call.dtype)
    dtype = accumulator(call.dtype)
    logarithm = builder.pointwise("log", total, shape=total.shape, dtype=dtype)
    result = builder.pointwise("sub", shifted, logarithm, shape=call.shape, dtype=dtype)
    return as_dtype(builder, result, call.dtype)


def _exponentials(builder: Builder, view: View, axis: int, result: str) -> tuple[View, View, View]:
    """X - max, its exponentials, and their sum."""
    dtype = accumulator(result)
    largest = reduce(builder, "amax", view, (axis,), view.dtype)
    shifted = builder.pointwise("sub", view, largest, shape=view.shape, dtype=dtype)
    exponentials = builder.pointwise("exp", shifted, shape=view.shape, dtype=dtype)
    return shifted, exponentials, reduce(builder, "sum", exponentials, (axis,), dtype)


def _layer_norm(builder: Builder, call: Call) -> Operand:
    view = call.view("input")
    rank, num = len(view.shape), len(call.integers("normalized_shape"))
    axes = tuple(range(rank - num, rank))
    mean, variance = _mean_and_variance(builder, view, axes)
    normal, inverse = _normalized(builder, view, mean, variance, call.real("eps"))
    return _affine(builder, normal, call, call.arguments["weight"], call.arguments["bias"]), mean, inverse


def _group_norm(builder: Builder, call: Call) -> Operand:
    view, groups = call.view("input"), call.integer("group")
    batch, channels = view.shape[0], view.shape[1]
    grouped = builder.reshape(view, (batch, groups, view.numel // (batch * groups)))
    mean, variance = _mean_and_variance(builder, grouped, (2,))
    normal, inverse = _normalized(builder, grouped, mean, variance, call.real("eps"))
    per_channel = (channels, *[1] * (len(view.shape) - 2))
    weight, bias = (
        builder.reshape(operand, per_channel) if isinstance(operand, View) else None
        for operand in (call.arguments["weight"], call.arguments["bias"])
    )
    whole = builder.reshape(normal, view.shape)
    return _affine(builder, whole, call, weight, bias), mean, inverse


def _batch_norm(builder: Builder, call: Call) -> Operand:
    view = call.view("input")
    per_channel = (view.shape[1], *[1] * (len(view.shape) - 2))
    mean, variance, weight, bias = (
        builder.reshape(operand, per_channel) if isinstance(operand, View) else None
        for operand in (call.arguments[name] for name in ("running_mean", "running_var", "weight", "bias"))
    )
    assert mean is not None
    assert variance is not None
    dtype = accumulator(view.dtype)

    def each(op: str, *operands: View | Number) -> View:
        return builder.pointwise(op, *operands, shape=per_channel, dtype=dtype)

    scale = each("rsqrt", each("add", variance, call.real("eps")))
    if weight is not None:
        scale = each("mul", scale, weight)
    shift = each("neg", each("mul", mean, scale))
    if bias is not None:
        shift = each("add", bias, shift)
    # Both follow from parameters and are found again in every call, where they are used.
    scaled = builder.pointwise("mul", view, scale, shape=call.shape, dtype=dtype)
    result = builder.pointwise("add", scaled, shift, shape=call.shape, dtype=dtype)
    # The two empty results are what eval mode saves for a backward pass: nothing.
    return as_dtype(builder, result, call.dtype), None, None


def _batch_statistics(builder: Builder, call: Call) -> Operand:
    """Instance norm, which ATen spells as a batch norm that keeps no statistics."""
    assert "running_mean" not in call.arguments
    view = call.view("input")
    axes = tuple(axis for axis in range(len(view.shape)) if axis != 1)
    mean, variance = _mean_and_variance(builder, view, axes)
    normal, inverse = _normalized(builder, view, mean, variance, call.real("eps"))
    weight, bias = (
        builder.reshape(operand, (view.shape[1], *[1] * (len(view.shape) - 2)))
        if isinstance(operand, View)
        else None
        for operand in (call.arguments["weight"], call.arguments["bias"])
    )
    return _affine(builder, normal, call, weight, bias), mean, inverse


def _normalized(builder: Builder, view: View, mean: View, variance: View, eps: float) -> tuple[View, View]:
    """(view - mean) / sqrt(variance + eps), and that root's inverse.

    Written (mean - view) * -inverse: the same numbers, but not the differences that the variance has squared.
    A kernel over rows that fit into registers pays one instruction for that; rows too long for it are spared
    the differences' way through memory.
    """
    dtype = accumulator(view.dtype)
    shifted = builder.pointwise("add", variance, eps, shape=variance.shape, dtype=dtype)
    inverse = builder.pointwise("rsqrt", shifted, shape=variance.shape, dtype=dtype)
    negative = builder.pointwise("neg", inverse, shape=variance.shape, dtype=dtype)
    difference = builder.pointwise("sub", mean, view, shape=view.shape, dtype=dtype)
    return builder.pointwise("mul", difference, negative, shape=view.shape, dtype=dtype), inverse


def _affine(builder: Builder, normal: View, call: Call, weight: Operand, bias: Operand) -> View:
    for op, operand in (("mul", weight), ("add", bias)):
        if isinstance(operand, View):
            normal = builder.pointwise(op, normal, operand, shape=call.shape, dtype=normal.dtype)
    return as_dtype(builder, normal, call.dtype)


LOWERINGS: dict[str, Lowering] = {
    "sum": _reduction,
    "mean": _reduction,
    "prod": _reduction,
    "amax": _reduction,
    "amin": _reduction,
    "argmax": _extremum_place,
    "argmin": _extremum_place,
    "max": _extremum,
    "min": _extremum,
    "any": _truth,
    "all": _truth,
    "var": _variance,
    "linalg_vector_norm": _vector_norm,
    "_softmax": _softmax,
    "_log_softmax": _log_softmax,
    "native_layer_norm": _layer_norm,
    "native_group_norm": _group_norm,
    "_native_batch_norm_legit_no_training": _batch_norm,
    "_native_batch_norm_legit": _batch_statistics,
}
