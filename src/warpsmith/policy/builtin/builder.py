"""Builds a graph node by node, with names that are legal in Python and in C and never repeat."""

from collections.abc import Mapping
from itertools import count

from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import Node, Number, Operand, Shape, Source, Value, View


class Builder:
    """Collects nodes in running order. A node with the operands of an earlier one is that one."""

    def __init__(self, reserved: set[str]) -> None:
        self.nodes: list[Node] = []
        self._names = set(reserved)
        self._known: dict[object, Node] = {}

    def node(
        self,
        op: str,
        inputs: tuple[Operand, ...],
        outputs: tuple[tuple[Shape, str], ...],
        attributes: Mapping[str, Operand] | None = None,
    ) -> tuple[View, ...]:
        """Whole views of the outputs, each given as its shape and dtype."""
        found = attributes or {}
        # A number's type matters: 1, 1.0 and True are one key to a dict.
        key = (op, inputs, repr(inputs), outputs, repr(sorted(found.items())))
        if key not in self._known:
            values = tuple(
                Value(name=self._fresh(op), shape=shape, dtype=dtype, source=Source.NODE)
                for shape, dtype in outputs
            )
            self._known[key] = Node(op=op, inputs=inputs, outputs=values, attributes=found)
            self.nodes.append(self._known[key])
        return tuple(View.whole(value) for value in self._known[key].outputs)

    def pointwise(self, op: str, *operands: View | Number, shape: Shape, dtype: str) -> View:
        """`op` over operands broadcast to `shape`."""
        inputs = tuple(
            views.expand(operand, shape) if isinstance(operand, View) else operand for operand in operands
        )
        (view,) = self.node(op, inputs, ((shape, dtype),))
        return view

    def reduction(self, op: str, view: View, axes: tuple[int, ...], dtype: str) -> View:
        """`op` over `axes`, which stay with size 1."""
        kept = tuple(n for axis, n in enumerate(view.shape) if axis not in axes)
        around = tuple(1 if axis in axes else n for axis, n in enumerate(view.shape))
        (result,) = self.node(op, (view,), ((kept, dtype),), {"axes": axes})
        return self.reshape(result, around)

    def reshape(self, view: View, shape: Shape) -> View:
        """`view` under another shape; copies where strides cannot say it."""
        reshaped = views.reshape(view, shape)
        if reshaped is None:
            reshaped = views.reshape(self.in_order(view), shape)
        assert reshaped is not None  # what lies in order takes any shape
        return reshaped

    def in_order(self, view: View) -> View:
        """`view` as a value that lies in its own order."""
        if view.is_in_order:
            return view
        return self.pointwise("copy", view, shape=view.shape, dtype=view.dtype)

    def _fresh(self, op: str) -> str:
        stem = op.strip("_")
        name = next(name for k in count(1) if (name := f"{stem}_{k}") not in self._names)
        self._names.add(name)
        return name
