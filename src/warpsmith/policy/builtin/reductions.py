"""Reductions over axes, and the norms and softmaxes that are made of them.

Each function takes a call and returns what it computes, as in `lowering`.
"""

import math

from warpsmith.policy.builtin.builder import Builder
from warpsmith.policy.builtin.call import Call, Lowering
from warpsmith.policy.builtin.graph import Number, Operand, View


def accumulator(dtype: str) -> str:
    """What sums over values of `dtype` are kept in."""
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def _reduce(builder: Builder, op: str, view: View, axes: tuple[int, ...], dtype: str) -> View:
    """`op` over `axes`, which stay with size 1. Over axes of size 1 alone there is nothing to do."""
    long = tuple(axis for axis in axes if view.shape[axis] != 1)
    if not long:
        return view if view.dtype == dtype else builder.pointwise("copy", view, shape=view.shape, dtype=dtype)
    return builder.reduction(op, view, long, dtype)


def _reduction(builder: Builder, call: Call) -> View:
    op = {"max": "amax", "min": "amin"}.get(call.op, call.op)
    reduced = _reduce(builder, op, call.view(), call.axes(), call.dtype)
    return builder.reshape(reduced, call.shape)


def _extremum(builder: Builder, call: Call) -> Operand:
    """Max and min, over everything or along an axis; there, the second result is where it was found."""
    if "dim" not in call.arguments:
        return _reduction(builder, call)
    values = _reduction(builder, call)
    where = builder.node(f"arg{call.op}", tuple(call.arguments.values()), (call.results[1],))
    return values, where[0]


def _truth(builder: Builder, call: Call) -> View:
    """Any and all: the larger and the smaller of bools."""
    view = call.view()
    if view.dtype != "bool":
        view = builder.pointwise("ne", view, 0, shape=view.shape, dtype="bool")
    op = "amax" if call.op == "any" else "amin"
    return builder.reshape(_reduce(builder, op, view, call.axes(), "bool"), call.shape)


def _variance(builder: Builder, call: Call) -> View:
    correction = call.arguments.get("correction")
    divisor_less = float(correction) if isinstance(correction, int | float) else 1.0
    _, variance = _mean_and_variance(builder, call.view(), call.axes(), divisor_less)
    return builder.reshape(_as_dtype(builder, variance, call.dtype), call.shape)


def _mean_and_variance(
    builder: Builder, view: View, axes: tuple[int, ...], correction: float = 0.0
) -> tuple[View, View]:
    """The variance by the squared deviations from the mean: exact where one pass of squares cancels."""
    dtype = accumulator(view.dtype)
    mean = _reduce(builder, "mean", view, axes, dtype)
    deviation = builder.pointwise("sub", view, mean, shape=view.shape, dtype=dtype)
    squares = builder.pointwise("square", deviation, shape=view.shape, dtype=dtype)
    num = math.prod(view.shape[axis] for axis in axes)
    if not correction:
        return mean, _reduce(builder, "mean", squares, axes, dtype)
    total = _reduce(builder, "sum", squares, axes, dtype)
    divisor = max(num - correction, 0.0)
    scale = 1.0 / divisor if divisor else math.inf
    return mean, builder.pointwise("mul", total, scale, shape=total.shape, dtype=dtype)


def _vector_norm(builder: Builder, call: Call) -> View:
    order, dtype, view = call.real("ord"), accumulator(call.dtype), call.view()

    def each(op: str, operand: View, *numbers: Number) -> View:
        return builder.pointwise(op, operand, *numbers, shape=operand.shape, dtype=dtype)

    if order == 2:
        norm = each("sqrt", _reduce(builder, "sum", each("square", view), call.axes(), dtype))
    elif order in (math.inf, -math.inf):
        norm = _reduce(builder, "amax" if order > 0 else "amin", each("abs", view), call.axes(), dtype)
    elif order == 1:
        norm = _reduce(builder, "sum", each("abs", view), call.axes(), dtype)
    else:
        powers = each("pow", each("abs", view), order)
        norm = each("pow", _reduce(builder, "sum", powers, call.axes(), dtype), 1.0 / order)
    return builder.reshape(_as_dtype(builder, norm, call.dtype), call.shape)


def _as_dtype(builder: Builder, view: View, dtype: str) -> View:
    return view if view.dtype == dtype else builder.pointwise("copy", view, shape=view.shape, dtype=dtype)


# Norms and softmax


def _softmax(builder: Builder, call: Call) -> View:
    shifted, exponentials, total = _exponentials(builder, call)
    dtype = accumulator(call.dtype)
    if call.op == "_softmax":
        result = builder.pointwise("div", exponentials, total, shape=call.shape, dtype=dtype)
    else:
        logarithm = builder.pointwise("log", total, shape=total.shape, dtype=dtype)
        result = builder.pointwise("sub", shifted, logarithm, shape=call.shape, dtype=dtype)
    return _as_dtype(builder, result, call.dtype)


def _exponentials(builder: Builder, call: Call) -> tuple[View, View, View]:
    """X - max, its exponentials, and their sum."""
    view, axis, dtype = call.view(), call.axis(), accumulator(call.dtype)
    largest = _reduce(builder, "amax", view, (axis,), view.dtype)
    shifted = builder.pointwise("sub", view, largest, shape=view.shape, dtype=dtype)
    exponentials = builder.pointwise("exp", shifted, shape=view.shape, dtype=dtype)
    return shifted, exponentials, _reduce(builder, "sum", exponentials, (axis,), dtype)


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
    normal, _ = _normalized(builder, view, mean, variance, call.real("eps"))
    # The two empty results are what eval mode saves for a backward pass: nothing.
    return _affine(builder, normal, call, weight, bias), None, None


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
    """(view - mean) / sqrt(variance + eps), and that root's inverse."""
    dtype = accumulator(view.dtype)
    shifted = builder.pointwise("add", variance, eps, shape=variance.shape, dtype=dtype)
    inverse = builder.pointwise("rsqrt", shifted, shape=variance.shape, dtype=dtype)
    deviation = builder.pointwise("sub", view, mean, shape=view.shape, dtype=dtype)
    return builder.pointwise("mul", deviation, inverse, shape=view.shape, dtype=dtype), inverse


def _affine(builder: Builder, normal: View, call: Call, weight: Operand, bias: Operand) -> View:
    for op, operand in (("mul", weight), ("add", bias)):
        if isinstance(operand, View):
            normal = builder.pointwise(op, normal, operand, shape=call.shape, dtype=normal.dtype)
    return _as_dtype(builder, normal, call.dtype)


LOWERINGS: dict[str, Lowering] = {
    "sum": _reduction,
    "mean": _reduction,
    "prod": _reduction,
    "amax": _reduction,
    "amin": _reduction,
    "max": _extremum,
    "min": _extremum,
    "any": _truth,
    "all": _truth,
    "var": _variance,
    "linalg_vector_norm": _vector_norm,
    "_softmax": _softmax,
    "_log_softmax": _softmax,
    "native_layer_norm": _layer_norm,
    "native_group_norm": _group_norm,
    "_native_batch_norm_legit_no_training": _batch_norm,
    "_native_batch_norm_legit": _batch_statistics,
}
