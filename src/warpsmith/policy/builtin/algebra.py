"""Less arithmetic for the same result, by rules of algebra rather than by faster kernels.

Each rule that was used is named in the graph's `shortcuts`, so that whoever counts results can leave out
those that owe their speed to one.
"""

import math
from dataclasses import replace

from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.builder import Builder
from warpsmith.policy.builtin.graph import (
    Graph,
    Node,
    Number,
    Operand,
    Shape,
    Shortcut,
    Value,
    View,
    live,
)

Axes = tuple[int, ...]

# Applying them again, with the same numbers, changes nothing.
IDEMPOTENT = frozenset(("relu", "abs", "maximum", "minimum", "floor", "ceil", "trunc", "round", "sign"))


def shorten(graph: Graph, reserved: set[str]) -> Graph:
    """`graph` with as little arithmetic as the rules allow. `reserved` names stay free."""
    return _Shortening(graph, reserved).graph()


class _Shortening:
    """Writes a graph again, shortened."""

    def __init__(self, old: Graph, reserved: set[str]) -> None:
        self.old = old
        self.builder = Builder(reserved)
        self.moved: dict[Value, Value] = {}
        self.used: list[Shortcut] = list(old.shortcuts)

    def graph(self) -> Graph:
        for node in self.old.nodes:
            self._write(node)
        outputs = tuple(self._operand(operand) for operand in self.old.outputs)
        return replace(
            self.old,
            nodes=live(self.builder.nodes, outputs),
            outputs=outputs,
            shortcuts=tuple(dict.fromkeys(self.used)),
        )

    def _write(self, node: Node) -> None:
        for shortcut, rule in RULES.items():
            made = rule(self, node)
            if made is not None:
                self.moved[node.output] = made.value
                self.used.append(shortcut)
                return
        inputs = tuple(self._operand(operand) for operand in node.inputs)
        shapes = tuple((value.shape, value.dtype) for value in node.outputs)
        results = self.builder.node(node.op, inputs, shapes, node.attributes)
        self.moved |= {value: view.value for value, view in zip(node.outputs, results, strict=True)}

    def _operand(self, operand: Operand) -> Operand:
        if isinstance(operand, tuple):
            return tuple(self._operand(item) for item in operand)
        return self._view(operand) if isinstance(operand, View) else operand

    def _view(self, view: View) -> View:
        return replace(view, value=self.moved.get(view.value, view.value))

    # The rules. Each gives a view, in order, of what `node` makes; None where it does not apply.

    def once(self, node: Node) -> View | None:
        """relu(relu(x)) is relu(x)."""
        if node.op not in IDEMPOTENT or len(node.views) != 1 or not node.views[0].is_in_order:
            return None
        inner = self.old.producer(node.views[0].value)
        if inner is None or inner.op != node.op or len(inner.views) != 1:
            return None
        if inner.output.dtype != node.output.dtype or _numbers(inner) != _numbers(node):
            return None
        return self._view(View.whole(inner.output))

    def one_factor(self, node: Node) -> View | None:
        """(x * a) * b is x * (a * b)."""
        factor, inner = _factor(node), self._inner(node)
        inner_factor = inner and _factor(inner)
        if not inner or not factor or not inner_factor or inner.output.dtype not in ("float32", "float64"):
            return None
        product = factor * inner_factor
        # A product of numbers that overflows, or vanishes, is not what two steps give.
        if not math.isfinite(product) or abs(product) < 1e-30:
            return None
        source = views.reshape(self._view(inner.views[0]), node.output.shape)
        if source is None or inner.views[0].dtype != node.output.dtype:
            return None
        return self.builder.pointwise(
            "mul", source, product, shape=node.output.shape, dtype=node.output.dtype
        )

    def _inner(self, node: Node) -> Node | None:
        """The maker of a pointwise node's only operand, if nobody else reads that."""
        if len(node.views) != 1 or not node.views[0].is_in_order:
            return None
        value = node.views[0].value
        is_alone = len(self.old.users(value)) == 1 and not self.old.is_returned(value)
        return self.old.producer(value) if is_alone else None

    def total_of_product(self, node: Node) -> View | None:
        """The sum of x W^T over its columns is x times the sum of W's rows: a vector, no matrix."""
        axes = node.attributes.get("axes")
        if node.op not in ("sum", "mean") or node.output.dtype != "float32" or not isinstance(axes, tuple):
            return None
        reduced = tuple(axis for axis in axes if isinstance(axis, int))
        view = node.views[0]
        if len(view.shape) - 1 not in reduced or self._product_within(view) is None:
            return None
        total = self._total(view, reduced)
        if node.op == "mean":
            count = math.prod(view.shape[axis] for axis in reduced)
            total = self._each("mul", total, 1.0 / count)
        return self.builder.in_order(total)

    def _product_within(self, view: View) -> Node | None:
        """The product that `view` is a linear function of, if it is made for that alone."""
        node = self.old.producer(view.value)
        is_alone = len(self.old.users(view.value)) == 1 and not self.old.is_returned(view.value)
        if node is None or not is_alone or not view.is_in_order or view.shape != view.value.shape:
            return None
        if node.output.dtype != "float32" or any(item.dtype != "float32" for item in node.views):
            return None
        if _is_product(node):
            return node
        if _factor(node) is not None:
            return self._product_within(node.views[0])
        if node.op in ("add", "sub"):
            inner = [item for item in node.views if self.old.producer(item.value) is not None]
            return self._product_within(inner[0]) if len(inner) == 1 else None
        return None

    def _total(self, view: View, axes: Axes) -> View:
        """The sum of `view` over `axes`, which stay with size 1."""
        node = self.old.producer(view.value)
        if node is None:
            return self._total_of_operand(view, axes)
        factor = _factor(node)
        if factor is not None:
            return self._each("mul", self._total(node.views[0], axes), factor)
        if node.op in ("add", "sub"):
            first, second = (self._term(item, view.shape, axes) for item in node.inputs)
            shape = tuple(1 if axis in axes else n for axis, n in enumerate(view.shape))
            return self.builder.pointwise(node.op, first, second, shape=shape, dtype="float32")
        return self._total_of_product(node, axes)

    def _term(self, item: Operand, shape: Shape, axes: Axes) -> View | Number:
        if isinstance(item, View):
            return self._total(item, axes)
        assert isinstance(item, bool | int | float)
        return item * math.prod(shape[axis] for axis in axes)

    def _total_of_operand(self, view: View, axes: Axes) -> View:
        """Each element once: a broadcast axis is a factor, or stays one."""
        times = math.prod(view.shape[axis] for axis in axes if not view.strides[axis])
        for axis, stride in enumerate(view.strides):
            view = view if stride else views.cut(view, axis, 0, 1)
        long = tuple(axis for axis in axes if view.shape[axis] > 1)
        total = self.builder.reduction("sum", view, long, "float32") if long else view
        return self._each("mul", total, times) if times != 1 else total

    def _total_of_product(self, node: Node, axes: Axes) -> View:
        rows, weight = self._view(node.views[0]), self._view(node.views[1])
        across = 0 if node.op == "linear" else 1  # the axis of the weight that became the last one
        vector = self.builder.reduction("sum", weight, (across,), "float32")
        vector = self.builder.reshape(vector, (weight.shape[1 - across],))
        products = self.builder.pointwise("mul", rows, vector, shape=rows.shape, dtype="float32")
        total = self.builder.reduction("sum", products, axes, "float32")
        if len(node.views) == 2:
            return total
        around = tuple(1 if axis in axes else n for axis, n in enumerate(node.output.shape))
        bias = self._total_of_operand(views.expand(self._view(node.views[2]), node.output.shape), axes)
        return self.builder.pointwise("add", total, bias, shape=around, dtype="float32")

    def _each(self, op: str, view: View, number: Number) -> View:
        return self.builder.pointwise(op, view, number, shape=view.shape, dtype="float32")


def _numbers(node: Node) -> list[tuple[type, Operand]]:
    return [(type(item), item) for item in node.inputs if not isinstance(item, View)]


def _factor(node: Node) -> float | None:
    """What a pointwise node multiplies its only operand by."""
    match node.op, node.inputs:
        case ("mul", (View(), int() | float() as factor)) | ("mul", (int() | float() as factor, View())):
            return float(factor)
        case "div", (View(), int() | float() as divisor) if divisor:
            return 1.0 / divisor
        case _:
            return None


def _is_product(node: Node) -> bool:
    """Of rows with one matrix."""
    has_matrix = node.op in ("linear", "mm", "matmul") and len(node.views) >= 2
    return has_matrix and len(node.views[1].shape) == 2 and len(node.views[0].shape) == len(node.output.shape)


RULES = {
    Shortcut.TOTAL_OF_PRODUCT: _Shortening.total_of_product,
    Shortcut.ONCE: _Shortening.once,
    Shortcut.ONE_FACTOR: _Shortening.one_factor,
}
