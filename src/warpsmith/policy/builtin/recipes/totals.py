"""Reductions of a few long rows, or of everything: many blocks share a row; a second small kernel ends it.

The order of additions is fixed by the launch, so a result is the same every time.
"""

from dataclasses import dataclass, replace

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin.graph import Graph, Node, Source, Value, View
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.base import Group, Part, Variant
from warpsmith.policy.builtin.recipes.fusion import Linking, fused_group, grow
from warpsmith.policy.builtin.recipes.row_domain import REDUCTIONS, Domain, Kind, domain_of
from warpsmith.policy.builtin.recipes.row_layout import Layout
from warpsmith.policy.builtin.recipes.row_program import Program, read_program
from warpsmith.policy.builtin.recipes.row_sweep import (
    COMBINATIONS,
    Sweep,
    accumulator_type,
    across_row_text,
    completed_line,
    part_name,
    partial_name,
    start_text,
)
from warpsmith.policy.builtin.recipes.row_text import (
    ACROSS_ROW,
    ACROSS_SIDE,
    combination_functions,
    operand_lines,
)
from warpsmith.policy.builtin.recipes.rows import (
    domain_linking,
    formula,
    group_name,
    is_for_many_blocks,
    is_reduction,
    widths,
)

ACCUMULATOR_DTYPES = {"float": "float32", "double": "float64", "int": "int32", "long long": "int64"}
BLOCKS = (512, 1024, 256, 2048)  # over all rows; two to eight on each multiprocessor


class Totals:
    """Sums, means and extrema over a few long rows, with what is pointwise before and after."""

    name = "totals"

    def match(self, graph: Graph, remaining: tuple[Node, ...]) -> Group | None:
        found: list[Group] = []
        covered: set[Node] = set()
        for seed in remaining:
            if seed in covered or not is_reduction(seed) or not is_for_many_blocks(seed, remaining):
                continue
            nodes = _needed(grow(graph, remaining, seed, _linking(domain_of(seed))), domain_of(seed))
            covered |= set(nodes)
            found.append(_group(graph, nodes, domain_of(seed)))
        return max(found, key=lambda group: len(group.nodes), default=None)

    def variants(self, group: Group, gpu: Gpu) -> tuple[Variant, ...]:
        del gpu
        domain = _domain(group)
        shapes = _side_shapes(domain) if domain.is_side_by_side else _shapes(widths(_program(group))[0])
        return tuple(
            Variant(
                name=f"{blocks} blocks of {lanes * rows} threads, {vectors} x {width} elements at a trip",
                settings={"blocks": blocks, "lanes": lanes, "rows": rows, "width": width, "vectors": vectors},
            )
            for lanes, rows, width, vectors in shapes
            for blocks in BLOCKS[:3]
        )

    def emit(self, group: Group, variant: Variant) -> Part:
        domain = _domain(group)
        layout = Layout.of(variant, domain)
        tiles = -(-domain.num_rows // layout.rows_per_block)
        layout = replace(layout, splits=max(1, min(variant.number("blocks") // tiles, layout.num_trips)))
        kernels = _TotalText(group, _program(group), layout)
        made = [text.allocation(value, group.inputs) for value in (*group.outputs, *kernels.parts)]
        arguments = text.call(
            group.name, kernels.inputs, (*kernels.outputs, *kernels.parts), (str(domain.num_rows),)
        )
        return Part(
            file=f"kernels/{group.name}.cu",
            source=kernels.source(),
            forward=(*made, arguments),
            note=f"{formula(group)} over {domain.num_rows} x {domain.num_cols}, in two kernels ({layout}).",
        )


Shape = tuple[int, int, int, int]  # lanes and rows of a block, width and number of a thread's vectors


def _shapes(width: int) -> tuple[Shape, ...]:
    return tuple((lanes, 1, width, vectors) for lanes, vectors in ((512, 4), (256, 4), (256, 8)))


def _side_shapes(domain: Domain) -> tuple[Shape, ...]:
    """As many rows to a block as a warp reads side by side, or as there are."""
    rows = min(32, 1 << (domain.num_rows - 1).bit_length())
    return tuple((threads // rows, rows, 1, vectors) for threads, vectors in ((512, 8), (256, 8), (512, 16)))


def _linking(domain: Domain) -> Linking:
    """As for rows, except that nothing over the columns may wait for a reduction."""
    rows = domain_linking(domain)

    def fuses(view: View, node: Node) -> bool:
        made, used = domain.kind_of(view.value), domain.kind_of(node.output)
        waits = made is Kind.ROW and (used is Kind.FULL or node.op in REDUCTIONS)
        return not waits and rows.fuses(view, node)

    return Linking(
        accepts=lambda node: node.op != "gather" and rows.accepts(node), fuses=fuses, shares=rows.shares
    )


def _needed(nodes: tuple[Node, ...], domain: Domain) -> tuple[Node, ...]:
    """Without what only reads the same operands: to write that costs more than to read them once more."""
    kept: list[Node] = []
    read: set[Value] = set()
    for node in reversed(nodes):
        if node.op in REDUCTIONS or domain.kind_of(node.output) is Kind.ROW or node.output in read:
            kept.append(node)
            read |= {view.value for view in node.views}
    return tuple(reversed(kept))


def _group(graph: Graph, nodes: tuple[Node, ...], domain: Domain) -> Group:
    return fused_group(
        graph, nodes, recipe=Totals.name, name=f"{group_name(nodes)}_total", launches=2, details=domain
    )


def _domain(group: Group) -> Domain:
    assert isinstance(group.details, Domain)
    return group.details


def _program(group: Group) -> Program:
    return read_program(group.nodes, _domain(group), group.outputs, is_streamed=True)


@dataclass(frozen=True, slots=True)
class _TotalText:
    """Writes both kernels and their launcher."""

    group: Group
    program: Program
    layout: Layout

    @property
    def inputs(self) -> tuple[Value, ...]:
        return tuple(dict.fromkeys(read.view.value for read in self.program.reads))

    @property
    def outputs(self) -> tuple[Value, ...]:
        return self.program.outputs

    @property
    def reductions(self) -> list[Node]:
        return [node for one in self.program.passes for node in one.reductions]

    @property
    def parts(self) -> tuple[Value, ...]:
        """What the blocks of the first kernel leave for the second."""
        shape = (self.program.domain.num_rows, self.layout.splits)
        return tuple(
            Value(
                name=f"{node.output.name}_parts",
                shape=shape,
                dtype=ACCUMULATOR_DTYPES[accumulator_type(node)],
                source=Source.NODE,
            )
            for node in self.reductions
        )

    def source(self) -> str:
        """The whole file."""
        layout = self.layout
        constants = [
            *layout.trip_constants,
            f"constexpr int kSplits = {layout.splits};  // blocks that share a row",
        ]
        if not layout.is_side_by_side:
            constants.append("constexpr int kWarps = kLanes / 32;")
        pieces = [
            text.comment(self._header()),
            text.headers(self.inputs + self.outputs),
            "namespace {",
            "\n".join(constants),
            text.VECTOR.rstrip(),
            *combination_functions(self.reductions),
            ACROSS_SIDE if layout.is_side_by_side else ACROSS_ROW,
            self._first_kernel(),
            self._second_kernel(),
            "}  // namespace",
            self._launcher(),
        ]
        return "\n\n".join(pieces) + "\n"

    def _header(self) -> str:
        domain, group = self.program.domain, self.group
        return "\n".join(
            [
                f"{group.name}: {formula(group)},",
                f"over {domain.num_rows} rows of {domain.num_cols}.",
                "",
                f"{self.layout.splits} blocks share the columns of a row, of which a block has "
                f"{self.layout.rows_per_block};",
                "a second kernel combines what they found, always in the same order.",
                text.traffic(group.cost.traffic_bytes),
            ]
        )

    def _first_kernel(self) -> str:
        sweep = Sweep(self.program, self.layout)
        first = self.program.passes[0]
        lines = [
            *self._shared(),
            *self._position("blockIdx.y"),
            *operand_lines(sweep),
        ]
        lines += sweep.loops(first)
        lines += [
            f"{part_name(node)} = {across_row_text(node, part_name(node))};" for node in first.reductions
        ]
        writes = [
            f"    {text.out_name(value)}[row * kSplits + blockIdx.x] = {part_name(node)};"
            for node, value in zip(self.reductions, self.parts, strict=True)
        ]
        lines += [f"if ({self._writes}) {{", *writes, "}"]
        formals = [*text.parameters(self.inputs, (*self.program.full_outputs, *self.parts)), "int rows"]
        return text.function(
            f"__global__ void __launch_bounds__(kLanes * kRowsPerBlock) {self.group.name}_parts_kernel",
            formals,
            lines,
        )

    def _second_kernel(self) -> str:
        sweep = Sweep(self.program, self.layout)
        rows_only = [line for line in operand_lines(sweep) if "_row = " not in line]
        lines = [*self._shared(), *self._position("blockIdx.x"), *rows_only]
        for node, value in zip(self.reductions, self.parts, strict=True):
            part = part_name(node)
            lines += [
                f"{accumulator_type(node)} {part} = {start_text(node)};",
                "for (int k = lane; k < kSplits; k += kLanes) {",
                f"    {part} = {COMBINATIONS[node.op][0]}({part}, {value.name}[row * kSplits + k]);",
                "}",
            ]
            lines.append(completed_line(node, across_row_text(node, part), self.layout.num_cols))
        lines += [sweep.node_line(node) for one in self.program.passes for node in one.row_nodes]
        writes = [
            f"    {text.out_name(value)}[row] = {text.stored(value)};" for value in self.program.row_outputs
        ]
        lines += [f"if ({self._writes}) {{", *writes, "}"]
        formals = [*text.parameters((*self.inputs, *self.parts), self.program.row_outputs), "int rows"]
        return text.function(
            f"__global__ void __launch_bounds__(kLanes * kRowsPerBlock) {self.group.name}_kernel",
            formals,
            lines,
        )

    def _position(self, block: str) -> list[str]:
        """Which row a thread works on, and as which of those that share it."""
        if self.layout.rows_per_block == 1:
            return [f"const int row = {block};", "const int lane = threadIdx.x;"]
        return [
            f"const int wanted = {block} * kRowsPerBlock + threadIdx.x % kRowsPerBlock;",
            "const bool is_live = wanted < rows;",
            "const int row = is_live ? wanted : rows - 1;  // past the end: again, but not written",
            "const int lane = threadIdx.x / kRowsPerBlock;",
        ]

    @property
    def _writes(self) -> str:
        return "lane == 0" if self.layout.rows_per_block == 1 else "is_live && lane == 0"

    def _shared(self) -> list[str]:
        size = "kRowsPerBlock * kLanes" if self.layout.is_side_by_side else "kWarps"
        return [
            f"__shared__ {accumulator_type(node)} {partial_name(node)}[{size}];" for node in self.reductions
        ]

    def _launcher(self) -> str:
        name, outputs = self.group.name, (*self.outputs, *self.parts)
        formals = [*text.launcher_parameters(self.inputs, outputs), "int rows", "cudaStream_t stream"]
        first = text.pointer_names(self.inputs, (*self.program.full_outputs, *self.parts))
        second = [text.c_name(value) for value in self.inputs]
        second += [text.out_name(value) for value in (*self.parts, *self.program.row_outputs)]
        lines = [
            "const int tiles = (rows + kRowsPerBlock - 1) / kRowsPerBlock;",
            "const int threads = kLanes * kRowsPerBlock;",
            f"{name}_parts_kernel<<<dim3(kSplits, tiles), threads, 0, stream>>>({', '.join(first)}, rows);",
            f"{name}_kernel<<<tiles, threads, 0, stream>>>({', '.join(second)}, rows);",
            "return (int)cudaGetLastError();",
        ]
        return text.function(f'extern "C" int {name}', formals, lines)
