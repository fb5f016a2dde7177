"""Scaled dot-product attention, written out: products, a scale, a mask, a softmax. A recipe may see it whole.

The node "causal" is minus infinity above the diagonal of its last two axes. Only the attention recipe
reads it.
"""

import math

from warpsmith.policy.builtin import reductions, views
from warpsmith.policy.builtin.builder import Builder
from warpsmith.policy.builtin.call import Call, Lowering
from warpsmith.policy.builtin.graph import Operand, Shape, View


def _attention(builder: Builder, call: Call) -> Operand:
    query, key, value = (call.view(name) for name in ("query", "key", "value"))
    assert not call.real("dropout_p"), "dropout"
    if call.arguments["enable_gqa"]:
        key, value = (_per_query_head(builder, view, query) for view in (key, value))
    scale = call.arguments["scale"]
    factor = float(scale) if isinstance(scale, int | float) else 1.0 / math.sqrt(query.shape[-1])
    shape = (*call.shape[:-1], key.shape[-2])
    scores = _product(builder, query, _turned(key), shape, call.dtype)
    scores = builder.pointwise("mul", scores, factor, shape=shape, dtype=call.dtype)
    scores = _masked(builder, call, scores)
    probabilities = reductions.softmax(builder, scores, len(shape) - 1, call.dtype)
    return _product(builder, probabilities, value, call.shape, call.dtype)


def _masked(builder: Builder, call: Call, scores: View) -> View:
    mask = call.arguments["attn_mask"]
    if call.arguments["is_causal"]:
        assert mask is None, "causal, and a mask"
        assert scores.dtype == "float32", f"causal, of {scores.dtype}"
        (scores,) = builder.node("causal", (scores,), ((scores.shape, scores.dtype),))
    if not isinstance(mask, View):
        return scores
    operands = (mask, scores, -math.inf) if mask.dtype == "bool" else (scores, mask)
    op = "where" if mask.dtype == "bool" else "add"
    return builder.pointwise(op, *operands, shape=scores.shape, dtype=scores.dtype)


def _per_query_head(builder: Builder, view: View, query: View) -> View:
    """[.., heads, S, E] with each head as often as there are queries' heads to it."""
    *batch, heads, length, size = view.shape
    times = query.shape[-3] // heads
    split = builder.reshape(view, (*batch, heads, 1, length, size))
    return builder.reshape(
        views.expand(split, (*batch, heads, times, length, size)), (*batch, heads * times, length, size)
    )


def _turned(view: View) -> View:
    rank = len(view.shape)
    return views.permute(view, (*range(rank - 2), rank - 1, rank - 2))


def _product(builder: Builder, left: View, right: View, shape: Shape, dtype: str) -> View:
    (result,) = builder.node(
        "matmul", (builder.as_matrices(left), builder.as_matrices(right)), ((shape, dtype),)
    )
    return result


LOWERINGS: dict[str, Lowering] = {"scaled_dot_product_attention": _attention}
