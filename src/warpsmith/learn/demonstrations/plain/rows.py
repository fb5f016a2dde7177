"""One kernel for a whole graph over rows: a block a row, a loop for each reduction and one for the result."""

from dataclasses import dataclass

from warpsmith.learn.demonstrations.plain.kernels import (
    START,
    THREADS,
    axes_of,
    computed,
    ended,
    gather,
    joined,
    launched,
    load,
    outer_reads,
    reduced_size,
)
from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import Graph, Node, Value, View
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.fusion import is_pointwise, outside_inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The space that is walked."""

    number: int
    length: int

    @property
    def numel(self) -> int:
        return self.number * self.length


def rows_kernel(name: str, graph: Graph, output: Value) -> str | None:
    """None unless each operator works on all elements, on one of each row, or takes the rows together."""
    rows = _rows(graph)
    if rows is None or not all(_fits(graph, node, rows) for node in graph.nodes):
        return None
    lines = ["int row = blockIdx.x;"]
    for node in graph.nodes:
        if not is_pointwise(node):
            lines += _reduced(graph, node, rows)
        elif node.output.numel == rows.number:
            lines += _of_row(graph, node)
    lines += _written(graph, output, rows)
    inputs = outside_inputs(graph.nodes)
    return launched(name, inputs, (output,), lines, blocks=str(rows.number))


def _rows(graph: Graph) -> Rows | None:
    reductions = [node for node in graph.nodes if not is_pointwise(node)]
    if not reductions:
        return None
    found = Rows(number=reductions[0].output.numel, length=reduced_size(reductions[0]))
    return found if found.length > 1 else None


def _fits(graph: Graph, node: Node, rows: Rows) -> bool:
    if is_pointwise(node):
        if node.output.numel not in (rows.numel, rows.number):
            return False
        shape = (rows.number, rows.length) if node.output.numel == rows.numel else (rows.number,)
        return all(_readable(graph, view, shape, rows) for view in node.views)
    (view,) = node.views
    rank = len(view.shape)
    are_last = axes_of(node) == tuple(range(rank - len(axes_of(node)), rank))
    is_alike = (node.output.numel, reduced_size(node)) == (rows.number, rows.length)
    return are_last and is_alike and _readable(graph, view, (rows.number, rows.length), rows)


def _readable(graph: Graph, view: View, shape: tuple[int, ...], rows: Rows) -> bool:
    """Whether what the kernel has made is wanted where it has it; of inputs any element can be read."""
    if graph.producer(view.value) is None:
        return True
    if view.value.numel == rows.number and len(shape) == 2:
        seen = views.reshape(view, shape)
        return seen is not None and seen.strides == (1, 0) and seen.offset == 0
    return view.is_in_order and view.value.numel == view.numel


def _reduced(graph: Graph, node: Node, rows: Rows) -> list[str]:
    (view,) = node.views
    result = text.c_name(node.output)
    needed = _needed(graph, (view.value,), rows)
    reads = outer_reads((*needed, node))
    outer = [read for read in reads if _is_outer(graph, read.view)]
    of_view = next((read.name for read in outer if read.view == view), text.c_name(view.value))
    return [
        f"float {result} = {START[node.op]};",
        *_loop(rows),
        *(f"    {load(read, 'i')}" for read in outer),
        *(f"    {line}" for line in computed(needed, tuple(outer))),
        f"    {result} = {joined(node.op, result, of_view)};",
        "}",
        f"{result} = {gather(node.op)}({result});",
        *ended(node, result),
    ]


def _of_row(graph: Graph, node: Node) -> list[str]:
    outer = tuple(read for read in outer_reads((node,)) if _is_outer(graph, read.view))
    return [*(load(read, "row") for read in outer), *computed((node,), outer)]


def _written(graph: Graph, output: Value, rows: Rows) -> list[str]:
    target = text.out_name(output)
    if output.numel == rows.number:
        return [f"if (threadIdx.x == 0) {target}[row] = {text.stored(output)};"]
    needed = _needed(graph, (output,), rows)
    outer = tuple(read for read in outer_reads(needed) if _is_outer(graph, read.view))
    return [
        *_loop(rows),
        *(f"    {load(read, 'i')}" for read in outer),
        *(f"    {line}" for line in computed(needed, outer)),
        f"    {target}[i] = {text.stored(output)};",
        "}",
    ]


def _loop(rows: Rows) -> list[str]:
    return [
        f"for (int j = threadIdx.x; j < {rows.length}; j += {THREADS}) {{",
        f"    int i = row * {rows.length} + j;",
    ]


def _needed(graph: Graph, values: tuple[Value, ...], rows: Rows) -> tuple[Node, ...]:
    """The operators on all elements that `values` need: they are computed again in each loop."""
    wanted, kept = set(values), list[Node]()
    for node in reversed(graph.nodes):
        if node.output in wanted and is_pointwise(node) and node.output.numel == rows.numel:
            kept.append(node)
            wanted |= {view.value for view in node.views}
    return tuple(reversed(kept))


def _is_outer(graph: Graph, view: View) -> bool:
    return graph.producer(view.value) is None
