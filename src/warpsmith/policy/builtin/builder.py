"""Builds a graph node by node, with names that are legal in Python and in C and never repeat."""

from collections.abc import Mapping
from itertools import count

from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import (
    Constant,
    Node,
    Number,
    Operand,
    Shape,
    Shortcut,
    Source,
    Value,
    View,
)


class Builder:
    """Collects nodes in running order. A node with the operands of an earlier one is that one."""

    def __init__(self, reserved: set[str]) -> None:
        self.nodes: list[Node] = []
        self.constants: list[Constant] = []
        self.shortcuts: list[Shortcut] = []
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

    def progression(self, first: Number, step: Number, num: int, dtype: str) -> View:
        """First, first + step, …: `num` elements, a constant."""
        known = (item.value for item in self.constants)
        same = ((num,), dtype, (first, step))
        found = next((v for v in known if (v.shape, v.dtype, v.progression) == same), None)
        if found is None:
            name = self._fresh("arange")
            found = Value(
                name=name,
                shape=(num,),
                dtype=dtype,
                source=Source.CONSTANT,
                path=name,
                progression=(first, step),
            )
            expression = f"torch.arange({num}, dtype=torch.{dtype})"
            expression += f" * {step!r}" if step != 1 else ""
            expression += f" + {first!r}" if first else ""
            self.constants.append(Constant(value=found, expression=expression))
        return View.whole(found)

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

    def as_matrices(self, view: View) -> View:
        """An evenly spaced batch of matrices, the elements of whose lines lie together."""
        batch, _ = views.collapse(view.shape[:-2], view.strides[:-2])
        has_neighbours = len(view.shape) < 2 or 1 in view.strides[-2:] or 1 in view.shape[-2:]
        is_even = len(batch) <= 1 and has_neighbours and not views.is_flipped(view)
        return view if is_even else self.in_order(view)

    def _fresh(self, op: str) -> str:
        stem = op.strip("_")
        name = next(name for k in count(1) if (name := f"{stem}_{k}") not in self._names)
        self._names.add(name)
        return name
