"""Small things computed where they are used: a per-channel scale needs no kernel and no memory of its own.

What algebra can leave out is left out first.

Only what follows from operands alone is repeated so. What follows from a reduction stays: a kernel over rows
computes it once a row.
"""

from dataclasses import replace
from typing import cast

from warpsmith.policy.builtin.algebra import shorten
from warpsmith.policy.builtin.builder import Builder
from warpsmith.policy.builtin.graph import Graph, Node, Operand, Value, View, contiguous_strides
from warpsmith.policy.builtin.operators import OPERATORS

EXPANSION = 2  # how many times as large a user must be


def simplify(graph: Graph, reserved: set[str]) -> Graph:
    """`graph` shortened, small pointwise nodes repeated inside their users. `reserved` names stay free."""
    return _Repetition(shorten(graph, reserved), reserved).graph()


class _Repetition:
    """Writes a graph again, without its small nodes."""

    def __init__(self, old: Graph, reserved: set[str]) -> None:
        self.old = old
        self.builder = Builder(reserved)
        self.small = _small_nodes(old)
        self.moved: dict[Value, Value] = {}

    def graph(self) -> Graph:
        for node in self.old.nodes:
            if node.outputs[0] not in self.small:
                self._write(node)
        outputs = tuple(self._operand(operand) for operand in self.old.outputs)
        return replace(self.old, nodes=tuple(self.builder.nodes), outputs=outputs)

    def _write(self, node: Node) -> None:
        inputs = tuple(self._operand(operand) for operand in node.inputs)
        shapes = tuple((value.shape, value.dtype) for value in node.outputs)
        made = self.builder.node(node.op, inputs, shapes, node.attributes)
        self.moved |= {value: view.value for value, view in zip(node.outputs, made, strict=True)}

    def _operand(self, operand: Operand) -> Operand:
        if isinstance(operand, tuple):
            return tuple(self._operand(item) for item in operand)
        if not isinstance(operand, View):
            return operand
        if operand.value in self.small:
            return self._repeated(self.small[operand.value], operand)
        return replace(operand, value=self.moved.get(operand.value, operand.value))

    def _repeated(self, node: Node, view: View) -> View:
        """`node` computed again for each element of `view`, a broadcast of its output."""
        axes = cast(list[int | None], _axes(view))
        inputs = [
            self._operand(_through(operand, view, axes)) if isinstance(operand, View) else operand
            for operand in node.inputs
        ]
        (made,) = self.builder.node(node.op, tuple(inputs), ((view.shape, node.output.dtype),))
        return made


def _small_nodes(graph: Graph) -> dict[Value, Node]:
    """The nodes to repeat, by their output."""
    free: set[Value] = set()  # pointwise results of operands alone
    made = {value for node in graph.nodes for value in node.outputs}
    for node in graph.nodes:
        if node.op in OPERATORS and all(view.value in free or view.value not in made for view in node.views):
            free.add(node.output)
    small: dict[Value, Node] = {}
    for node in reversed(graph.nodes):
        users = graph.users(node.outputs[0])
        is_used = bool(users) and not graph.is_returned(node.outputs[0])
        if is_used and node.outputs[0] in free and all(_repeats(node.output, user, small) for user in users):
            small[node.output] = node
    return small


def _repeats(value: Value, user: Node, small: dict[Value, Node]) -> bool:
    """Whether `user` may compute `value` for itself."""
    if user.op not in OPERATORS:
        return False
    is_larger = user.output.numel >= EXPANSION * value.numel
    return (is_larger or user.output in small) and all(
        _axes(view) is not None for view in user.views if view.value == value
    )


def _axes(view: View) -> list[int | None] | None:
    """For each axis of a broadcast view, the axis of its value that it walks; None for any other view."""
    steps = {
        step: axis
        for axis, (size, step) in enumerate(
            zip(view.value.shape, contiguous_strides(view.value.shape), strict=True)
        )
        if size > 1
    }
    found: list[int | None] = []
    for size, step in zip(view.shape, view.strides, strict=True):
        axis = steps.get(step) if step else None
        if step and size > 1 and (axis is None or view.value.shape[axis] != size):
            return None
        found.append(axis if size > 1 else None)
    walked = [axis for axis in found if axis is not None]
    return found if len(walked) == len(set(walked)) and not view.offset else None


def _through(operand: View, view: View, axes: list[int | None]) -> View:
    """What the operand of a node is to one who reads the node's output through `view`."""
    strides = tuple(0 if axis is None else operand.strides[axis] for axis in axes)
    return replace(operand, shape=view.shape, strides=strides)
