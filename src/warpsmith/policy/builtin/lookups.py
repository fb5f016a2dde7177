"""Rows looked up by an index tensor: embedding, index_select and indexing along one axis.

The node "lookup" takes a view, the axis, and an index that lies in order; its output has the index's axes in
the place of the axis. An index from -size counts from the end, where torch's operator does so.
"""

from warpsmith.policy.builtin.builder import Builder
from warpsmith.policy.builtin.call import Call, Lowering
from warpsmith.policy.builtin.graph import Operand, View


def _embedding(builder: Builder, call: Call) -> View:
    assert not call.arguments.get("sparse"), "sparse"
    return _lookup(builder, call, call.view("weight"), 0, call.arguments["indices"])


def _index_select(builder: Builder, call: Call) -> View:
    return _lookup(builder, call, call.view(), call.axis(), call.arguments["index"])


def _index(builder: Builder, call: Call) -> View:
    """x[:, index]: one index tensor along one axis."""
    given = call.arguments["indices"]
    assert isinstance(given, tuple)
    places = [(axis, index) for axis, index in enumerate(given) if index is not None]
    assert len(places) == 1, "several index tensors"
    axis, index = places[0]
    return _lookup(builder, call, call.view(), axis, index)


def _lookup(builder: Builder, call: Call, source: View, axis: int, index: Operand) -> View:
    assert isinstance(index, View)
    assert index.dtype in ("int64", "int32"), f"an index of {index.dtype}"
    (result,) = builder.node("lookup", (source, axis, builder.in_order(index)), call.results)
    return result


LOWERINGS: dict[str, Lowering] = {
    "embedding": _embedding,
    "index_select": _index_select,
    "index": _index,
}
