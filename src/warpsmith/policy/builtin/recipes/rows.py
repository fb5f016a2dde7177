"""Reductions over rows with all that is pointwise around them: norms, softmax, losses, statistics.

One pass over memory where a row fits into the registers of the threads that share it; several passes, which
find the row in the L2 cache, where it does not.
"""

from functools import lru_cache

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin.graph import ITEM_BYTES, Graph, Node, View
from warpsmith.policy.builtin.operators import COMPUTE_TYPES
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.base import Group, Part, Variant
from warpsmith.policy.builtin.recipes.fusion import Linking, fused_group, grow, is_pointwise
from warpsmith.policy.builtin.recipes.row_domain import REDUCTIONS, Domain, Kind, domain_of
from warpsmith.policy.builtin.recipes.row_layout import Layout, held_layouts, side_layouts, streamed_layouts
from warpsmith.policy.builtin.recipes.row_program import Program, read_program
from warpsmith.policy.builtin.recipes.row_text import RowText

MAX_VARIANTS = 8


class Rows:
    """Row reductions with their prologue and epilogue."""

    name = "rows"

    def match(self, graph: Graph, remaining: tuple[Node, ...]) -> Group | None:
        found: list[Group] = []
        covered: set[Node] = set()
        for seed in remaining:
            if seed in covered or not is_reduction(seed) or is_for_many_blocks(seed, remaining):
                continue
            domain = domain_of(seed)
            nodes = grow(graph, remaining, seed, domain_linking(domain))
            covered |= set(nodes)
            found.append(_group(graph, nodes, domain))
        return max(found, key=lambda group: len(group.nodes), default=None)

    def variants(self, group: Group, gpu: Gpu) -> tuple[Variant, ...]:
        del gpu
        return tuple(layout.variant for layout in _layouts(group)[:MAX_VARIANTS])

    def emit(self, group: Group, variant: Variant) -> Part:
        domain = _domain(group)
        layout = Layout.of(variant, domain)
        program = _program(group, is_streamed=layout.is_streamed)
        kernel = RowText(group.name, program, layout)
        made = [text.allocation(value, group.inputs) for value in group.outputs]
        call = text.call(group.name, kernel.inputs, kernel.outputs, (str(domain.num_rows),))
        return Part(
            file=f"kernels/{group.name}.cu",
            source=kernel.source(_header(group, program, layout)),
            forward=(*made, call),
            note=f"{formula(group)} over {domain.num_rows} rows of {domain.num_cols} ({layout}).",
        )


def is_reduction(node: Node) -> bool:
    """Whether `node` is a reduction of a dtype that C has."""
    if node.op not in REDUCTIONS or len(node.views) != 1:
        return False
    return node.output.dtype in COMPUTE_TYPES and node.views[0].dtype in COMPUTE_TYPES


def is_for_many_blocks(seed: Node, remaining: tuple[Node, ...]) -> bool:
    """Whether `totals` shall have this reduction: few long rows, of which no single element is looked up."""
    domain = domain_of(seed)
    is_looked_up = any(node.op == "gather" and domain_of(node) == domain for node in remaining)
    return domain.is_few_long_rows and not is_looked_up


@lru_cache(maxsize=64)  # a network has many reductions over few domains
def domain_linking(domain: Domain) -> Linking:
    """What may share a kernel that walks `domain`."""

    @lru_cache(maxsize=1 << 14)  # a plan asks of the same nodes for each reduction, and again in each round
    def accepts(node: Node) -> bool:
        if is_reduction(node) or node.op == "gather":
            return domain_of(node) == domain and domain.kind_of(node.output) is Kind.ROW
        if not is_pointwise(node):
            return False
        kind = domain.kind_of(node.output)
        if kind is Kind.FULL:
            return all(domain.access(view) is not None for view in node.views)
        return kind is Kind.ROW

    @lru_cache(maxsize=1 << 14)
    def fuses(view: View, node: Node) -> bool:
        made, used = domain.kind_of(view.value), domain.kind_of(node.output)
        if node.op in REDUCTIONS or (node.op == "gather" and view == node.views[0]):
            return made is Kind.FULL and view.is_in_order
        if made is Kind.ROW and used is Kind.FULL:
            return domain.is_spread(view)
        return made is used and view.is_in_order

    return Linking(
        accepts=accepts,
        fuses=fuses,
        shares=lambda view: domain.kind_of(view.value) is Kind.FULL and view.is_in_order,
    )


def _group(graph: Graph, nodes: tuple[Node, ...], domain: Domain) -> Group:
    return fused_group(
        graph, nodes, recipe=Rows.name, name=f"{group_name(nodes)}_rows", launches=1, details=domain
    )


def group_name(nodes: tuple[Node, ...]) -> str:
    """A name after the reductions and what comes last."""
    reductions = [node.op for node in nodes if node.op in REDUCTIONS]
    last = [node.op for node in nodes if node.op not in REDUCTIONS][-2:]
    return "_".join(dict.fromkeys(reductions + last))


def _domain(group: Group) -> Domain:
    assert isinstance(group.details, Domain)
    return group.details


def _program(group: Group, *, is_streamed: bool) -> Program:
    return read_program(group.nodes, _domain(group), group.outputs, is_streamed=is_streamed)


def _layouts(group: Group) -> tuple[Layout, ...]:
    """Layouts worth a try, best guess first."""
    domain = _domain(group)
    program = _program(group, is_streamed=False)
    if domain.is_side_by_side:
        return tuple(side_layouts(domain.num_cols, program.num_kept))
    allowed = widths(program)
    held = tuple(held_layouts(domain.num_cols, allowed, program.num_kept))
    streamed = tuple(layout for layout in streamed_layouts(domain.num_cols, allowed) if layout.is_streamed)
    if not held or (streamed and _program(group, is_streamed=True).num_sweeps == 1):
        return streamed + held  # one sweep over any length needs no row in registers
    widest = tuple(layout for layout in held if layout.width == allowed[0])
    others = tuple(layout for layout in held if layout.width != allowed[0])
    return widest[:4] + others[:2] + streamed[:2] + widest[4:]


def widths(program: Program) -> tuple[int, ...]:
    """Vector widths that every operand allows; first the one at which the largest items fill 16 bytes."""
    accesses = [read.access for read in program.reads if read.access.cols.stride == 1]
    if program.full_outputs:
        accesses.append(program.domain.write_access())
    items = [ITEM_BYTES[read.view.dtype] for read in program.reads if read.kind is Kind.FULL]
    items += [ITEM_BYTES[value.dtype] for value in program.full_outputs]
    best = 16 // max(items, default=4)
    allowed = [
        width
        for width in (8, 4, 2, 1)
        if program.domain.num_cols % width == 0
        and all(access.takes_vectors(width) for access in accesses if access.cols.stride == 1)
    ]
    return tuple(sorted(allowed, key=lambda width: (width > best, -width)))


def formula(group: Group) -> str:
    """What a group computes, for a reader."""
    return ", ".join(node.op for node in group.nodes)


def _header(group: Group, program: Program, layout: Layout) -> str:
    domain = program.domain
    threads = (
        f"{layout.lanes} threads share a row; {layout.rows_per_block} rows to a block of {layout.threads}."
    )
    if layout.is_streamed and program.num_sweeps > 1:
        how = f"Each of the {program.num_sweeps} passes over the columns reads again, from L2 if it can."
    elif layout.is_streamed:
        how = "One pass over the columns."
    else:
        how = f"A thread holds {layout.held} columns of its row in registers: memory is read once."
    traffic = text.traffic(group.cost.traffic_bytes)
    lines = [
        f"{group.name}: {formula(group)},",
        f"over {domain.num_rows} rows of {domain.num_cols}.",
        "",
        threads,
        how,
        traffic,
    ]
    return "\n".join(lines)
