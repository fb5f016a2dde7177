"""The CUDA text of a row kernel around its passes."""

from warpsmith.policy.builtin.graph import Node
from warpsmith.policy.builtin.operators import COMPUTE_TYPES, STORAGE_TYPES
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.row_domain import Access, Kind
from warpsmith.policy.builtin.recipes.row_layout import Layout
from warpsmith.policy.builtin.recipes.row_program import Program, cone
from warpsmith.policy.builtin.recipes.row_sweep import (
    COMBINATIONS,
    Sweep,
    accumulator_type,
    converted,
    element_text,
    partial_name,
)

ACROSS_ROW = """\
// `value` combined over the kLanes threads of a row; each of them gets the result. `partial` serves one call.
template <typename T, typename Combine>
__device__ __forceinline__ T across_row(T value, T* partial, Combine combine) {
#pragma unroll
    for (int step = (kLanes < 32 ? kLanes : 32) / 2; step > 0; step /= 2) {
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, step));
    }
    if (kWarps > 1) {
        const int warp = threadIdx.x / 32;
        if (threadIdx.x % 32 == 0) {
            partial[warp] = value;
        }
        __syncthreads();
        value = partial[warp / kWarps * kWarps + threadIdx.x % kWarps];
#pragma unroll
        for (int step = kWarps / 2; step > 0; step /= 2) {
            value = combine(value, __shfl_xor_sync(0xffffffffu, value, step));
        }
    }
    return value;
}"""


ACROSS_SIDE = """\
// `value` combined over the kLanes threads of a row; each of them gets the result. `partial` serves one call.
template <typename T, typename Combine>
__device__ __forceinline__ T across_row(T value, T* partial, Combine combine) {
    const int side = threadIdx.x % kRowsPerBlock;
    partial[threadIdx.x] = value;
    __syncthreads();
    value = partial[side];
#pragma unroll
    for (int k = 1; k < kLanes; ++k) {
        value = combine(value, partial[k * kRowsPerBlock + side]);
    }
    return value;
}"""


def combination_functions(reductions: list[Node]) -> list[str]:
    """The functions that combine two parts, each once."""
    expressions = dict(COMBINATIONS[node.op] for node in reductions)
    return [
        "template <typename T>\n"
        + text.function(f"__device__ __forceinline__ T {name}", ["T a", "T b"], [f"return {expression};"])
        for name, expression in expressions.items()
    ]


class RowText:
    """Writes one kernel and its launcher."""

    def __init__(self, name: str, program: Program, layout: Layout) -> None:
        self.name = name
        self.program = program
        self.layout = layout
        self.sweep = Sweep(program, layout)
        self.inputs = tuple(dict.fromkeys(read.view.value for read in program.reads))
        self.outputs = program.outputs
        self.reductions = [node for one in program.passes for node in one.reductions]

    def source(self, header: str) -> str:
        """The whole file."""
        pieces = [
            text.comment(header),
            text.headers(self.inputs + self.outputs),
            "namespace {",
            self._constants(),
            text.VECTOR.rstrip(),
            *combination_functions(self.reductions),
            ACROSS_SIDE if self.layout.is_side_by_side else ACROSS_ROW,
            self._kernel(),
            "}  // namespace",
            self._launcher(),
        ]
        return "\n\n".join(pieces) + "\n"

    def _constants(self) -> str:
        layout = self.layout
        lines = (
            []
            if layout.is_exact and not layout.is_streamed
            else [f"constexpr int kCols = {layout.num_cols};"]
        )
        lines += layout.thread_constants(when=" at a trip" if layout.is_streamed else "")
        if not layout.is_side_by_side:
            lines.append("constexpr int kWarps = kLanes > 32 ? kLanes / 32 : 1;  // of a row")
        if layout.is_streamed:
            lines.append("constexpr int kTrip = kLanes * kVectors * kWidth;  // columns")
        return "\n".join(lines)

    def _kernel(self) -> str:
        lines = [*self._shared(), *self._position(), *operand_lines(self.sweep)]
        for one in self.program.passes:
            lines += [line for node in one.row_nodes for line in self._row_node(node)]
            lines += self.sweep.lines(one)
        lines += self._row_writes()
        head = f"__global__ void __launch_bounds__(kLanes * kRowsPerBlock) {self.name}_kernel"
        return text.function(head, [*text.parameters(self.inputs, self.outputs), "int rows"], lines)

    def _shared(self) -> list[str]:
        size = "kRowsPerBlock * kLanes" if self.layout.is_side_by_side else "kRowsPerBlock * kWarps"
        return [
            f"__shared__ {accumulator_type(node)} {partial_name(node)}[{size}];" for node in self.reductions
        ]

    def _position(self) -> list[str]:
        if self.layout.rows_per_block == 1:
            return ["const int row = blockIdx.x;", "const int lane = threadIdx.x;"]
        side, lane = ("threadIdx.x / kLanes", "threadIdx.x % kLanes")
        if self.layout.is_side_by_side:
            side, lane = "threadIdx.x % kRowsPerBlock", "threadIdx.x / kRowsPerBlock"
        return [
            f"const int wanted = blockIdx.x * kRowsPerBlock + {side};",
            "const bool is_live = wanted < rows;",
            "const int row = is_live ? wanted : rows - 1;  // past the end: again, but not written",
            f"const int lane = {lane};",
        ]

    def _row_node(self, node: Node) -> list[str]:
        return self._gather(node) if node.op == "gather" else [self.sweep.node_line(node)]

    def _gather(self, node: Node) -> list[str]:
        """One element of a full value, computed again at the column that the row's index names."""
        source, index = node.views
        needed = cone(source.value, self.program.nodes, self.program.domain)
        views = {source, *(view for part in needed for view in part.views)}
        lines = [f"const int col = (int){self.sweep.term(index).text};"]
        lines += [
            f"const {read.read.ctype} {read.element} = {converted(read, element_text(read, 'col'))};"
            for read in self.program.reads
            if read.view in views and read.kind in (Kind.FULL, Kind.COLUMN)
        ]
        name = text.c_name(node.output)
        lines += [
            *(self.sweep.node_line(part) for part in needed),
            f"{name} = {self.sweep.term(source).text};",
        ]
        return [f"{COMPUTE_TYPES[node.output.dtype]} {name};", "{", *("    " + line for line in lines), "}"]

    def _row_writes(self) -> list[str]:
        if not self.program.row_outputs:
            return []
        condition = "lane == 0" if self.layout.rows_per_block == 1 else "is_live && lane == 0"
        lines = [
            f"    {text.out_name(value)}[row] = {text.stored(value)};" for value in self.program.row_outputs
        ]
        return [f"if ({condition}) {{", *lines, "}"]

    def _launcher(self) -> str:
        formals = [*text.launcher_parameters(self.inputs, self.outputs), "int rows", "cudaStream_t stream"]
        pointers = ", ".join(text.pointer_names(self.inputs, self.outputs))
        lines = [
            "const int blocks = (rows + kRowsPerBlock - 1) / kRowsPerBlock;",
            f"{self.name}_kernel<<<blocks, kLanes * kRowsPerBlock, 0, stream>>>({pointers}, rows);",
            "return (int)cudaGetLastError();",
        ]
        return text.function(f'extern "C" int {self.name}', formals, lines)


def operand_lines(sweep: Sweep) -> list[str]:
    """Where this row starts in each full operand and result, and what there is one of a row."""
    program = sweep.program
    lines: list[str] = []
    for read in program.reads:
        offset = _row_offset(read.access)
        if read.kind is Kind.FULL:
            name, start = f"{read.name.removesuffix('_at')}_row", _offset_by(read.read.pointer, offset)
            lines.append(f"const {STORAGE_TYPES[read.view.dtype]}* {name} = {start};")
        elif read.kind is not Kind.COLUMN:
            element = converted(read, f"{read.read.pointer}[{offset}]")
            lines.append(f"const {read.read.ctype} {read.name} = {element};")
    for value in program.full_outputs:
        start = _offset_by(text.out_name(value), _row_offset(sweep.write_access))
        lines.append(f"{STORAGE_TYPES[value.dtype]}* {value.name}_row = {start};")
    return lines


def _row_offset(access: Access) -> str:
    offset = text.index_text("row", access.rows.sizes, access.rows.strides, num_bits=64)
    if not access.offset:
        return offset
    return str(access.offset) if offset == "0" else f"{access.offset} + {offset}"


def _offset_by(pointer: str, offset: str) -> str:
    return pointer if offset == "0" else f"{pointer} + {offset}"
