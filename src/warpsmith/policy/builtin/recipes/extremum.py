"""Where the largest or smallest element of a row stands, and on the way what it is.

As in PyTorch, of equal elements the first counts, and a NaN is more extreme than any number.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin.graph import Graph, Node, Value
from warpsmith.policy.builtin.operators import COMPUTE_TYPES, STORAGE_TYPES, Term, cast, literal
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.base import Group, Part, Variant
from warpsmith.policy.builtin.recipes.row_domain import Domain, domain_of
from warpsmith.policy.builtin.recipes.row_layout import Layout
from warpsmith.policy.builtin.recipes.row_operands import (
    RowOperands,
    deeper,
    each_element,
    each_vector,
    is_readable,
)
from warpsmith.policy.builtin.recipes.wrapped import Wrapped, most_nodes, nodes_before

COMPARISONS = {"argmax": ">", "argmin": "<"}
VALUES = {"argmax": "amax", "argmin": "amin"}  # the reduction that gives the element itself
LOWEST = {"int": -(2**31), "long long": -(2**63)}

# Threads that share a row, vectors that each takes at a trip, rows a block; best guess first.
ROW_SHAPES = ((256, 4, 1), (512, 2, 1), (128, 4, 1), (1024, 2, 1), (32, 4, 4), (32, 1, 4))
SIDE_SHAPES = ((8, 4, 32), (4, 8, 64), (16, 4, 32), (8, 8, 32), (2, 8, 128), (1, 4, 128))


class Extremum:
    """argmax and argmin along an axis or over everything, alone or with the element."""

    name = "extremum"

    def match(self, graph: Graph, remaining: tuple[Node, ...]) -> Group | None:
        """The one among `remaining` with most pointwise nodes before it."""
        best = most_nodes(_wrapped_extrema(graph, remaining))
        return best.group(graph, recipe=Extremum.name) if best else None

    def variants(self, group: Group, gpu: Gpu) -> tuple[Variant, ...]:
        del gpu
        return tuple(layout.variant for layout in _layouts(group))

    def emit(self, group: Group, variant: Variant) -> Part:
        wrapped = _wrapped(group)
        operands = _operands(wrapped)
        domain = operands.domain
        layout = Layout.of(variant, domain)
        kernel = _Text(group, wrapped, operands, layout)
        made = [text.allocation(value, group.inputs) for value in group.outputs]
        call = text.call(group.name, operands.inputs, group.outputs, (str(domain.num_rows),))
        return Part(
            file=f"kernels/{group.name}.cu",
            source=kernel.source(),
            forward=(*made, call),
            note=f"{', '.join(node.op for node in group.nodes)} over {domain.num_rows} rows of "
            f"{domain.num_cols}, in one pass ({layout}).",
        )


def _wrapped_extrema(graph: Graph, remaining: tuple[Node, ...]) -> Iterator[Wrapped]:
    for node in remaining:
        if node.op in COMPARISONS and _is_covered(node):
            beside = tuple(other for other in remaining if _gives_element(other, node))
            accepts = partial(is_readable, _domain(node))
            before = nodes_before(graph, remaining, {node, *beside}, accepts)
            yield Wrapped(before=before, heart=node, beside=beside)


def _is_covered(node: Node) -> bool:
    view = node.views[0]
    known = COMPUTE_TYPES.get(view.dtype) not in (None, "bool") and view.numel > 0
    return known and _domain(node).num_cols < 2**31 and _domain(node).access(view) is not None


def _gives_element(node: Node, place: Node) -> bool:
    return (
        node.op == VALUES[place.op]
        and node.views == place.views
        and node.attributes["axes"] == place.attributes["axes"]
        and node.output.dtype == place.views[0].dtype
    )


def _domain(node: Node) -> Domain:
    found = domain_of(node)
    # Of one element in all, that is a row of one.
    return found if found.pattern else Domain(pattern=((True, 1),))


def _wrapped(group: Group) -> Wrapped:
    assert isinstance(group.details, Wrapped)
    return group.details


def _operands(wrapped: Wrapped) -> RowOperands:
    return RowOperands.of(_domain(wrapped.heart), wrapped.operands(wrapped.nodes))


def _layouts(group: Group) -> list[Layout]:
    operands = _operands(_wrapped(group))
    domain, width = operands.domain, operands.widths[0]
    is_side = domain.is_side_by_side
    shapes = SIDE_SHAPES if is_side else ROW_SHAPES
    found = [
        Layout(
            num_cols=domain.num_cols,
            lanes=lanes,
            width=1 if is_side else width,
            vectors=vectors,
            rows_per_block=rows,
            is_side_by_side=is_side,
        )
        for lanes, vectors, rows in shapes
    ]
    fitting = [layout for layout in found if layout.trip_cols <= domain.num_cols or layout.busy > 0.5]
    return fitting or found[-1:]


@dataclass(frozen=True, slots=True)
class _Text:
    """Writes one kernel and its launcher."""

    group: Group
    wrapped: Wrapped
    operands: RowOperands
    layout: Layout

    @property
    def outputs(self) -> tuple[Value, ...]:
        return self.group.outputs

    @property
    def ctype(self) -> str:
        """What is compared."""
        return COMPUTE_TYPES[self.wrapped.heart.views[0].dtype]

    @property
    def start(self) -> str:
        """What everything is at least as good as."""
        sign = -1 if self.wrapped.heart.op == "argmax" else 1
        if self.ctype in LOWEST:
            lowest = LOWEST[self.ctype]
            return f"{literal(lowest + 1, self.ctype)} - 1" if sign < 0 else literal(-lowest - 1, self.ctype)
        return literal(sign * float("inf"), self.ctype)

    def source(self) -> str:
        """The whole file."""
        domain, layout = self.operands.domain, self.layout
        formula = ", ".join(node.op for node in self.group.nodes)
        header = [
            f"{self.group.name}: {formula} over {domain.num_rows} rows of {domain.num_cols}.",
            "",
            f"{layout.lanes} threads share a row. Of equal elements the first counts; a NaN beats numbers.",
            text.traffic(self.group.cost.traffic_bytes),
        ]
        pieces = [
            text.comment("\n".join(header)),
            text.headers(self.operands.inputs + self.outputs),
            "namespace {",
            "\n".join(layout.trip_constants),
            text.VECTOR.rstrip(),
            self._found(),
            self._kernel(),
            "}  // namespace",
            self._launcher(),
        ]
        return "\n\n".join(pieces) + "\n"

    def _found(self) -> str:
        sign = COMPARISONS[self.wrapped.heart.op]
        return FOUND.replace("TYPE", self.ctype).replace("SIGN", sign)

    def _kernel(self) -> str:
        lines = [*self._shared(), *self._position(), *self.operands.starts()]
        first = "lane" if self.layout.width == 1 else "lane * kWidth"
        lines += [
            f"Found best = {{{self.start}, {first} < kCols ? {first} : kCols}};",
            "for (int start = 0; start < kCols; start += kTrip) {",
            *deeper(self._trip()),
            "}",
            *(self._across_side() if self.layout.is_side_by_side else self._across_row()),
            *self._writes(),
        ]
        head = f"__global__ void __launch_bounds__(kLanes * kRowsPerBlock) {self.group.name}_kernel"
        return text.function(head, [*text.parameters(self.operands.inputs, self.outputs), "int rows"], lines)

    def _shared(self) -> list[str]:
        if self.layout.is_side_by_side:
            return ["__shared__ Found found[kLanes][kRowsPerBlock];"] if self.layout.lanes > 1 else []
        return ["__shared__ Found found[kLanes / 32];"] if self.layout.lanes > 32 else []

    def _position(self) -> list[str]:
        if self.layout.rows_per_block == 1:
            return ["const int row = blockIdx.x;", "const int lane = threadIdx.x;"]
        side, lane = "threadIdx.x / kLanes", "threadIdx.x % kLanes"
        if self.layout.is_side_by_side:
            side, lane = "threadIdx.x % kRowsPerBlock", "threadIdx.x / kRowsPerBlock"
        return [
            f"const int side = {side};",
            "const int wanted = blockIdx.x * kRowsPerBlock + side;",
            "const int row = wanted < rows ? wanted : rows - 1;  // past the end: again, but not written",
            f"const int lane = {lane};",
        ]

    def _trip(self) -> list[str]:
        return [
            *self.operands.declarations(is_ragged=False),
            *self._each(self.operands.loads(self.layout.width, None)),
            *self._each(each_element(self._element())),
        ]

    def _each(self, lines: list[str]) -> list[str]:
        col = "const int col = start + (k * kLanes + lane) * kWidth;"
        if self.layout.is_exact:
            return each_vector([col, *lines])
        return each_vector([col, "if (col < kCols) {", *deeper(lines), "}"])

    def _element(self) -> list[str]:
        heart, terms = self.wrapped.heart, self.operands.terms
        (view,) = heart.views
        value = cast(terms.get(view) or text.value_term(view.value), self.ctype)
        return [
            "const int at = j;",
            *self.operands.elements((*self.wrapped.before, heart)),
            *(text.node_line(node, terms) for node in self.wrapped.before),
            f"const {self.ctype} here = {value};",
            "// Columns come in rising order, so an equal one stands later.",
            "if (is_better(here, best.value)) {",
            "    best = {here, col + at};",
            "}",
        ]

    def _across_row(self) -> list[str]:
        lines = [
            "#pragma unroll",
            "for (int step = 16; step > 0; step /= 2) {",
            "    const Found other = {__shfl_xor_sync(0xffffffffu, best.value, step),",
            "                         __shfl_xor_sync(0xffffffffu, best.col, step)};",
            "    best = better_of(best, other);",
            "}",
        ]
        if self.layout.lanes == 32:
            return lines
        return [
            *lines,
            "if (lane % 32 == 0) {",
            "    found[lane / 32] = best;",
            "}",
            "__syncthreads();",
            *_gathered("kLanes / 32", "found[k]"),
        ]

    def _across_side(self) -> list[str]:
        if self.layout.lanes == 1:
            return []
        return [
            "found[lane][side] = best;",
            "__syncthreads();",
            *_gathered("kLanes", "found[k][side]"),
        ]

    def _writes(self) -> list[str]:
        lines: list[str] = []
        for value in self.outputs:
            is_place = value == self.wrapped.heart.output
            field = "best.col" if is_place else "best.value"
            term = Term(text=field, ctype="int" if is_place else self.ctype)
            lines.append(f"{text.out_name(value)}[row] = {cast(term, STORAGE_TYPES[value.dtype])};")
        condition = "lane == 0" if self.layout.rows_per_block == 1 else "lane == 0 && wanted < rows"
        return [f"if ({condition}) {{", *deeper(lines), "}"]

    def _launcher(self) -> str:
        inputs = self.operands.inputs
        formals = [*text.launcher_parameters(inputs, self.outputs), "int rows", "cudaStream_t stream"]
        pointers = ", ".join(text.pointer_names(inputs, self.outputs))
        lines = [
            "const int blocks = (rows + kRowsPerBlock - 1) / kRowsPerBlock;",
            f"{self.group.name}_kernel<<<blocks, kLanes * kRowsPerBlock, 0, stream>>>({pointers}, rows);",
            "return (int)cudaGetLastError();",
        ]
        return text.function(f'extern "C" int {self.group.name}', formals, lines)


FOUND = """\
// The best element of some columns, and the first column where it stands; kCols if there were no columns.
struct Found {
    TYPE value;
    int col;
};

__device__ __forceinline__ bool is_better(TYPE a, TYPE b) {
    return a SIGN b || (a != a && b == b);
}

__device__ __forceinline__ Found better_of(const Found& a, const Found& b) {
    const bool is_b = is_better(b.value, a.value) || (!is_better(a.value, b.value) && b.col < a.col);
    return is_b ? b : a;
}"""


def _gathered(num: str, found: str) -> list[str]:
    """The first thread of a row goes through what the others found."""
    return [
        "if (lane == 0) {",
        f"    for (int k = 1; k < {num}; ++k) {{",
        f"        best = better_of(best, {found});",
        "    }",
        "}",
    ]
