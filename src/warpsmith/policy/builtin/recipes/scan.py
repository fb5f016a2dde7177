"""Scans along an axis, with what is pointwise before and after, in one pass over memory.

The threads of a row take its columns in trips: each scans its own few, warps scan what their threads found,
and the carry goes from trip to trip. So sums are made as in a tree, and their errors stay small.
"""

from collections.abc import Iterator
from functools import partial

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin.graph import Graph, Node
from warpsmith.policy.builtin.operators import COMPUTE_TYPES
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.base import Group, Part, Variant
from warpsmith.policy.builtin.recipes.row_domain import Domain
from warpsmith.policy.builtin.recipes.row_layout import Layout
from warpsmith.policy.builtin.recipes.row_operands import RowOperands, is_readable
from warpsmith.policy.builtin.recipes.scan_text import ScanText
from warpsmith.policy.builtin.recipes.wrapped import Wrapped, most_nodes, wrap
from warpsmith.policy.builtin.scans import STARTS

# Threads that share a row and vectors that each takes at a trip; best guess first.
ROW_SHAPES = (
    (256, 4),
    (512, 2),
    (256, 2),
    (128, 4),
    (1024, 1),
    (128, 8),
    (128, 2),
    (32, 4),
    (32, 2),
    (32, 1),
)
# Of rows that lie side by side: threads that share a row, rows of a block, elements a thread.
SIDE_SHAPES = ((8, 32, 8), (4, 64, 8), (16, 32, 8), (1, 128, 16), (4, 64, 4), (1, 128, 8))
MAX_VARIANTS = 6


class Scan:
    """cumsum, cumprod, cummax, cummin and logcumsumexp; also from the end, and before each element."""

    name = "scan"

    def match(self, graph: Graph, remaining: tuple[Node, ...]) -> Group | None:
        """The scan among `remaining` with most pointwise nodes around it."""
        best = most_nodes(_wrapped_scans(graph, remaining))
        return best.group(graph, recipe=Scan.name) if best else None

    def variants(self, group: Group, gpu: Gpu) -> tuple[Variant, ...]:
        del gpu
        return tuple(layout.variant for layout in _layouts(group)[:MAX_VARIANTS])

    def emit(self, group: Group, variant: Variant) -> Part:
        domain = scan_domain(_wrapped(group).heart)
        layout = Layout.of(variant, domain)
        operands = _operands(group)
        kernel = ScanText(group.name, _wrapped(group), operands, layout)
        made = [text.allocation(value, group.inputs) for value in group.outputs]
        formula = ", ".join(node.op for node in group.nodes)
        rows, cols = domain.num_rows, domain.num_cols
        return Part(
            file=f"kernels/{group.name}.cu",
            source=kernel.source(text.traffic(group.cost.traffic_bytes)),
            forward=(*made, text.call(group.name, operands.inputs, operands.writes, (str(rows),))),
            note=f"{formula} along {rows} rows of {cols}, in one pass ({layout}).",
        )


def _wrapped_scans(graph: Graph, remaining: tuple[Node, ...]) -> Iterator[Wrapped]:
    for node in remaining:
        if node.op in STARTS and _is_covered(node):
            accepts = partial(is_readable, scan_domain(node))
            yield wrap(graph, remaining, node, before=accepts, after=accepts)


def scan_domain(node: Node) -> Domain:
    """Rows to scan along, of the axes around."""
    shape, axis = node.output.shape, node.attributes["axis"]
    pattern: list[tuple[bool, int]] = []
    for k, size in enumerate(shape):
        if size == 1:
            continue
        if pattern and k != axis and not pattern[-1][0]:
            pattern[-1] = (False, pattern[-1][1] * size)
        else:
            pattern.append((k == axis, size))
    return Domain(pattern=tuple(pattern))


def _is_covered(node: Node) -> bool:
    """Of dtypes that C has, and of numbers that have infinities where these are wanted."""
    ctypes = {COMPUTE_TYPES.get(dtype) for dtype in (node.output.dtype, node.views[0].dtype)}
    is_floating = ctypes <= {"float", "double"}
    is_number = None not in ctypes and node.op in ("cumsum", "cumprod")
    has_elements = node.output.numel > 0
    return has_elements and (is_floating or is_number) and scan_domain(node).access(node.views[0]) is not None


def _wrapped(group: Group) -> Wrapped:
    assert isinstance(group.details, Wrapped)
    return group.details


def _operands(group: Group) -> RowOperands:
    wrapped = _wrapped(group)
    return RowOperands.of(scan_domain(wrapped.heart), wrapped.operands(wrapped.nodes), group.outputs)


def _layouts(group: Group) -> list[Layout]:
    domain = scan_domain(_wrapped(group).heart)
    cols = domain.num_cols
    if domain.is_side_by_side:
        # A thread with nothing to do is worse than a long walk.
        shapes = [shape for shape in SIDE_SHAPES if shape[0] * shape[2] <= 2 * cols] or [(1, 128, 8)]
        is_few = domain.num_rows < 128 * 32
        shapes.sort(key=lambda shape: -shape[0] if is_few else 0)
        return [
            Layout(
                num_cols=cols, lanes=lanes, width=width, vectors=1, rows_per_block=rows, is_side_by_side=True
            )
            for lanes, rows, width in shapes
        ]
    width = _operands(group).widths[0]
    found = [
        Layout(num_cols=cols, lanes=lanes, width=width, vectors=vectors, rows_per_block=max(1, 128 // lanes))
        if lanes == 32
        else Layout(num_cols=cols, lanes=lanes, width=width, vectors=vectors, rows_per_block=1)
        for lanes, vectors in ROW_SHAPES
    ]
    fitting = [layout for layout in found if layout.trip_cols <= cols or layout.busy > 0.5]
    return sorted(fitting or found[-1:], key=lambda layout: layout.busy < 0.5)
