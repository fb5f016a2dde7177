"""Pooling over the last one to three axes: two kinds of node, or a reduction where a window is everything.

A `max_pool` or `avg_pool` node has one input, and as attributes the windows: `kernel`, `stride`, `padding`
and `dilation`, one number an axis. `divisor` is what sums are divided by, None for the number of elements,
which `counts_padding` or not. Each function takes a call and returns what it computes, as in `lowering`.
"""

from warpsmith.policy.builtin.builder import Builder
from warpsmith.policy.builtin.call import Call, Lowering
from warpsmith.policy.builtin.graph import Operand, View

Numbers = tuple[int, ...]


def _max_pool(builder: Builder, call: Call) -> Operand:
    """Where the maxima stand is another node, which no recipe has."""
    rank = len(call.integers("kernel_size"))
    (places,) = builder.node(f"{call.op}_places", tuple(call.arguments.values()), call.results[1:])
    windows: dict[str, Operand] = {name: _each(call, name, rank) for name in ("padding", "dilation")}
    return _pooled(builder, call, "max_pool", windows), places


def _avg_pool(builder: Builder, call: Call) -> View:
    rank = len(call.integers("kernel_size"))
    windows: dict[str, Operand] = {
        "padding": _each(call, "padding", rank),
        "divisor": call.arguments.get("divisor_override"),
        "counts_padding": bool(call.arguments["count_include_pad"]),
    }
    return _pooled(builder, call, "avg_pool", windows)


def _adaptive_pool(builder: Builder, call: Call) -> Operand:
    """Windows that share the input evenly; others are declined."""
    view, wanted = call.view(), call.integers("output_size")
    sizes = view.shape[len(view.shape) - len(wanted) :]
    assert all(size % n == 0 for size, n in zip(sizes, wanted, strict=True)), "windows are uneven"
    kernel = tuple(size // n for size, n in zip(sizes, wanted, strict=True))
    op = "max_pool" if "max" in call.op else "avg_pool"
    pooled = _windowed(builder, call, op, {"kernel": kernel, "stride": kernel})
    if len(call.results) == 1:
        return pooled
    (places,) = builder.node(f"{call.op}_places", tuple(call.arguments.values()), call.results[1:])
    return pooled, places


def _pooled(builder: Builder, call: Call, op: str, windows: dict[str, Operand]) -> View:
    kernel = call.integers("kernel_size")
    stride = _each(call, "stride", len(kernel)) if call.arguments["stride"] else kernel
    return _windowed(builder, call, op, {"kernel": kernel, "stride": stride, **windows})


def _windowed(builder: Builder, call: Call, op: str, windows: dict[str, Operand]) -> View:
    """The node; what `windows` do not say is as plain as it can be."""
    view, kernel = call.view(), windows["kernel"]
    assert isinstance(kernel, tuple)
    first = len(view.shape) - len(kernel)
    plain: dict[str, Operand] = {
        "padding": (0,) * len(kernel),
        "dilation": (1,) * len(kernel),
        "divisor": None,
        "counts_padding": True,
    }
    attributes = {**plain, **windows}
    is_whole = kernel == view.shape[first:] and call.shape[first:] == (1,) * len(kernel)
    if is_whole and attributes["padding"] == plain["padding"] and attributes["divisor"] is None:
        axes = tuple(k for k in range(first, len(view.shape)) if view.shape[k] > 1)
        reduction = "amax" if op == "max_pool" else "mean"
        return builder.reduction(reduction, view, axes, call.dtype) if axes else view
    (result,) = builder.node(op, (view,), call.results[:1], attributes)
    return result


def _each(call: Call, name: str, rank: int) -> Numbers:
    """A number an axis; one stands for all."""
    numbers = call.integers(name)
    return numbers * rank if len(numbers) == 1 else numbers


LOWERINGS: dict[str, Lowering] = {
    "max_pool2d_with_indices": _max_pool,
    "max_pool3d_with_indices": _max_pool,
    "avg_pool2d": _avg_pool,
    "avg_pool3d": _avg_pool,
    "_adaptive_avg_pool2d": _adaptive_pool,
    "_adaptive_avg_pool3d": _adaptive_pool,
    "adaptive_max_pool2d": _adaptive_pool,
    "adaptive_max_pool3d": _adaptive_pool,
}
