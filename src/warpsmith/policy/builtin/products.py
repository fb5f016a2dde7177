"""Matrix products; those with a vector are reductions of rows, since no tile of a product would be full."""

from warpsmith.policy.builtin import reductions, views
from warpsmith.policy.builtin.builder import Builder
from warpsmith.policy.builtin.call import Call, Lowering
from warpsmith.policy.builtin.graph import Number, View


def _linear(builder: Builder, call: Call) -> View | Number:
    source, weight, bias = call.scalar("input"), call.view("weight"), call.arguments["bias"]
    assert bias is None or isinstance(bias, View)
    if not isinstance(source, View):
        # The state that a cell begins with.
        assert source == 0, f"input is {source!r}"
        return 0.0 if bias is None else views.expand(bias, call.shape)
    if weight.shape[0] == 1 and source.shape[-1]:
        return _with_vector(builder, source, views.without_axis(weight, 0), bias, call)
    inputs = (builder.as_matrices(source), weight, bias and builder.in_order(bias))
    (result,) = builder.node("linear", inputs, call.results)
    return result


def _matmul(builder: Builder, call: Call) -> View:
    left, right = (operand for operand in call.arguments.values() if isinstance(operand, View))
    if len(right.shape) == 1:
        return _with_vector(builder, left, right, None, call)
    if len(left.shape) == 1:
        rank = len(right.shape)
        turned = views.permute(right, (*range(rank - 2), rank - 1, rank - 2))
        return _with_vector(builder, turned, left, None, call)
    return _product(builder, call)


def _product(builder: Builder, call: Call) -> View:
    """Kept as a node; an operand that is no evenly spaced batch of matrices is copied into one."""
    inputs = tuple(
        builder.as_matrices(operand) if isinstance(operand, View) else operand
        for operand in call.arguments.values()
    )
    (result,) = builder.node(call.op, inputs, call.results)
    return result


def _with_vector(builder: Builder, rows: View, vector: View, bias: View | None, call: Call) -> View:
    dtype = reductions.accumulator(call.dtype)
    products = builder.pointwise("mul", rows, vector, shape=rows.shape, dtype=dtype)
    total = reductions.reduce(builder, "sum", products, (len(rows.shape) - 1,), dtype)
    if bias is not None:
        total = builder.pointwise("add", total, bias, shape=total.shape, dtype=dtype)
    return builder.reshape(reductions.as_dtype(builder, total, call.dtype), call.shape)


LOWERINGS: dict[str, Lowering] = {
    "linear": _linear,
    "matmul": _matmul,
    "mv": _matmul,
    "dot": _matmul,
    "mm": _product,
    "bmm": _product,
}
