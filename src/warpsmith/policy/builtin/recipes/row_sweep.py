"""The CUDA text of one pass over the columns of a row."""

import re

from warpsmith.policy.builtin.graph import Node, Value, View
from warpsmith.policy.builtin.operators import COMPUTE_TYPES, STORAGE_TYPES, Term, cast, literal
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.row_domain import REDUCTIONS, Access, Kind
from warpsmith.policy.builtin.recipes.row_layout import Layout
from warpsmith.policy.builtin.recipes.row_program import Pass, Program, RowRead

COMBINATIONS = {  # name and expression of a combination
    "sum": ("sum_of", "a + b"),
    "mean": ("sum_of", "a + b"),
    "prod": ("product_of", "a * b"),
    "amax": ("larger_of", "a > b || a != a ? a : b"),  # a NaN is the result
    "amin": ("smaller_of", "a < b || a != a ? a : b"),
}
START = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": float("-inf"), "amin": float("inf")}
COL = re.compile(r"\bcol\b")
INTEGER_LIMITS = {"int": 2**31 - 1, "long long": 2**63 - 1}


class Sweep:
    """Writes the passes of one kernel; remembers which reciprocals are at hand."""

    def __init__(self, program: Program, layout: Layout) -> None:
        self.program = program
        self.layout = layout
        self.terms = {read.view: Term(text=read.element, ctype=read.read.ctype) for read in program.reads}
        self.write_access = program.domain.write_access()
        self.inverted: set[Value] = set()

    def lines(self, one: Pass) -> list[str]:
        """The loops of a pass and the completion of its reductions."""
        return [*self.loops(one), *self._completions(one)] if not one.is_empty else []

    def loops(self, one: Pass) -> list[str]:
        """All but the completion: each thread has its part of every reduction."""
        inverses = self._inverses(one)
        arrays = [
            f"{COMPUTE_TYPES[value.dtype]} {_kept_name(value)}[kVectors][kWidth];" for value in one.kept
        ]
        trip = self._trip(one)
        if self.layout.is_streamed:
            trip = [self.layout.trips_text, *_deeper(trip), "}"]
        return [*inverses, *arrays, *self._accumulators(one), *trip]

    def node_line(self, node: Node) -> str:
        """A division by a row's value is a product with its reciprocal, which is computed once a row."""
        divisor = _divisor(node)
        if divisor is None or divisor not in self.inverted:
            return text.node_line(node, self.terms)
        output, dividend = node.output, node.inputs[0]
        factor = f"over_{text.c_name(divisor)}"
        if not isinstance(dividend, View):
            return f"const float {text.c_name(output)} = {literal(float(str(dividend)), 'float')} * {factor};"
        return f"const float {text.c_name(output)} = {cast(self.term(dividend), 'float')} * {factor};"

    def term(self, view: View) -> Term:
        """A view as text: a loaded operand, or a value that an earlier line has made."""
        return self.terms.get(view) or text.value_term(view.value)

    def _inverses(self, one: Pass) -> list[str]:
        rows = {
            node.output
            for node in self.program.nodes
            if self.program.domain.kind_of(node.output) is Kind.ROW or node.op in REDUCTIONS
        }
        lines: list[str] = []
        for divisor in filter(None, map(_divisor, one.nodes)):
            if divisor in rows and divisor not in self.inverted and COMPUTE_TYPES[divisor.dtype] == "float":
                self.inverted.add(divisor)
                lines.append(f"const float over_{text.c_name(divisor)} = 1.0f / {text.c_name(divisor)};")
        return lines

    # The loop over a thread's vectors

    def _trip(self, one: Pass) -> list[str]:
        online = self._online(one)
        lines = [
            f"Vector<{STORAGE_TYPES[read.view.dtype]}, kWidth> {read.name}[kVectors];" for read in one.loads
        ]
        loads = [line for read in one.loads for line in self._load(read, f"{read.name}[k]")]
        lines += self._loop(loads) if loads else []
        lines += [f"float {_online_name(node)}[kVectors][kWidth];" for node in online]
        body = [line for read in one.reloads for line in self._column(read)]
        body += [f"Vector<{STORAGE_TYPES[value.dtype]}, kWidth> {value.name}_at;" for value in one.writes]
        body += [
            "#pragma unroll",
            "for (int j = 0; j < kWidth; ++j) {",
            *_deeper(self._element(one, online)),
            "}",
        ]
        body += self._stores(one)
        lines += self._loop(body, otherwise=_padding(online))
        return lines + [line for node in online for line in self._online_update(node)]

    def _loop(self, body: list[str], otherwise: list[str] | None = None) -> list[str]:
        start = "start + " if self.layout.is_streamed else ""
        lines = ["#pragma unroll", "for (int k = 0; k < kVectors; ++k) {"]
        if self.layout.is_exact and not any(COL.search(line) for line in body):
            return [*lines, *_deeper(body), "}"]
        lines += [f"    const int col = {start}(k * kLanes + lane) * kWidth;"]
        if self.layout.is_exact:
            return [*lines, *_deeper(body), "}"]
        inner = ["if (col < kCols) {", *_deeper(body)]
        inner += ["} else {", *_deeper(otherwise)] if otherwise else []
        return [*lines, *_deeper([*inner, "}"]), "}"]

    def _is_vector(self, read: RowRead) -> bool:
        return read.access.takes_vectors(self.layout.width)

    def _load(self, read: RowRead, target: str) -> list[str]:
        if self._is_vector(read):
            return [f"{target} = load<kWidth>({element_text(read, 'col', is_address=True)});"]
        return [
            "#pragma unroll",
            "for (int j = 0; j < kWidth; ++j) {",
            f"    {target}.at[j] = {element_text(read, '(col + j)')};",
            "}",
        ]

    def _column(self, read: RowRead) -> list[str]:
        declared = f"Vector<{STORAGE_TYPES[read.view.dtype]}, kWidth> {read.name}"
        if self._is_vector(read):
            return [f"const {declared} = load<kWidth>({element_text(read, 'col', is_address=True)});"]
        return [f"{declared};", *self._load(read, read.name)]

    # One element

    def _element(self, one: Pass, online: list[Node]) -> list[str]:
        used = {view for node in (*one.nodes, *one.reductions) for view in node.views}
        lines: list[str] = []
        for read in self.program.reads:
            if read.view in used and read.kind in (Kind.FULL, Kind.COLUMN):
                place = f"{read.name}[k].at[j]" if read.kind is Kind.FULL else f"{read.name}.at[j]"
                lines.append(f"const {read.read.ctype} {read.element} = {converted(read, place)};")
        lines += self._from_registers(one)
        lines += [self.node_line(node) for node in one.nodes]
        lines += [f"{_kept_name(value)}[k][j] = {text.c_name(value)};" for value in one.kept]
        for node in one.reductions:
            lines += self._accumulation(node, online)
        return lines + [f"{value.name}_at.at[j] = {text.stored(value)};" for value in one.writes]

    def _from_registers(self, one: Pass) -> list[str]:
        """Values that an earlier pass has kept."""
        made = {node.output for node in one.nodes}
        used = dict.fromkeys(view.value for node in (*one.nodes, *one.reductions) for view in node.views)
        kept = {value for other in self.program.passes for value in other.kept}
        return [
            f"const {COMPUTE_TYPES[value.dtype]} {text.c_name(value)} = {_kept_name(value)}[k][j];"
            for value in used
            if value in kept and value not in made
        ]

    def _stores(self, one: Pass) -> list[str]:
        lines: list[str] = []
        for value in one.writes:
            row, name = f"{value.name}_row", f"{value.name}_at"
            if self.write_access.takes_vectors(self.layout.width):
                lines.append(f"store({row} + col, {name});")
            else:
                place = col_text(self.write_access, "(col + j)")
                lines += [
                    "#pragma unroll",
                    "for (int j = 0; j < kWidth; ++j) {",
                    f"    {row}[{place}] = {name}.at[j];",
                    "}",
                ]
        if lines and self.layout.rows_per_block > 1:
            return ["if (is_live) {", *_deeper(lines), "}"]
        return lines

    # Reductions

    def _accumulators(self, one: Pass) -> list[str]:
        return [
            f"{accumulator_type(node)} {part_name(node)} = {start_text(node)};" for node in one.reductions
        ]

    def _accumulation(self, node: Node, online: list[Node]) -> list[str]:
        ctype = accumulator_type(node)
        if node in self.program.online.values():
            return []
        value = cast(self.term(node.views[0]), ctype)
        if node in online:
            return [f"{_online_name(node)}[k][j] = {value};"]
        if node.op in ("sum", "mean"):
            return [f"{part_name(node)} += {value};"]
        return [f"{part_name(node)} = {COMBINATIONS[node.op][0]}({part_name(node)}, {value});"]

    def _online(self, one: Pass) -> list[Node]:
        """The maxima whose sums of exponentials are found beside them."""
        return [node for node in one.reductions if node.output in self.program.online]

    def _online_update(self, node: Node) -> list[str]:
        """Exponentials are relative to the largest element so far; a larger one rescales their sum."""
        largest, total = part_name(node), part_name(self.program.online[node.output])
        each = [
            "#pragma unroll",
            "for (int k = 0; k < kVectors; ++k) {",
            "#pragma unroll",
            "    for (int j = 0; j < kWidth; ++j) {",
        ]
        return [
            "{",
            f"    float largest = {largest};",
            *_deeper(
                [*each, f"        largest = larger_of(largest, {_online_name(node)}[k][j]);", "    }", "}"]
            ),
            "    const float shift = largest == -INFINITY ? 0.0f : largest;",
            f"    {total} *= expf({largest} - shift);",
            *_deeper([*each, f"        {total} += expf({_online_name(node)}[k][j] - shift);", "    }", "}"]),
            f"    {largest} = largest;",
            "}",
        ]

    def _completions(self, one: Pass) -> list[str]:
        lines: list[str] = []
        for node in one.reductions:
            part = part_name(node)
            maximum = next((value for value, total in self.program.online.items() if total is node), None)
            if maximum is not None:
                name = text.c_name(maximum)
                part = f"{part} * expf({name}_part - ({name} == -INFINITY ? 0.0f : {name}))"
            lines.append(completed_line(node, across_row_text(node, part), self.layout.num_cols))
        return lines


def across_row_text(node: Node, part: str) -> str:
    """The combination of the parts of all threads of a row."""
    return f"across_row({part}, {partial_name(node)}, {COMBINATIONS[node.op][0]}<{accumulator_type(node)}>)"


def completed_line(node: Node, whole: str, num_cols: int) -> str:
    """The line that names a reduction's result, given the combination of all parts."""
    ctype, result = accumulator_type(node), COMPUTE_TYPES[node.output.dtype]
    if node.op == "mean":
        whole = f"{whole} * {literal(1.0 / num_cols, ctype)}"
    return f"const {result} {text.c_name(node.output)} = {cast(Term(text=whole, ctype=ctype), result)};"


def accumulator_type(node: Node) -> str:
    """The C type in which a reduction is accumulated."""
    ctype = COMPUTE_TYPES[node.output.dtype]
    return "int" if ctype == "bool" else ctype


def partial_name(node: Node) -> str:
    """The shared array through which the warps of a row meet."""
    return f"{node.output.name}_partial"


def converted(read: RowRead, loaded: str) -> str:
    """A loaded element as what it is computed in."""
    return cast(Term(text=loaded, ctype=STORAGE_TYPES[read.view.dtype]), read.read.ctype)


def element_text(read: RowRead, col: str, *, is_address: bool = False) -> str:
    """The element of a full operand or a column at `col`, or its address."""
    base = f"{read.name.removesuffix('_at')}_row" if read.kind is Kind.FULL else read.read.pointer
    place = col_text(read.access, col)
    if read.kind is Kind.COLUMN and read.access.offset:
        place = f"{read.access.offset} + {place}"
    return f"{base} + {place}" if is_address else f"{base}[{place}]"


def col_text(access: Access, col: str) -> str:
    """How far from the start of its row the element at `col` lies."""
    plain = col.strip("()") if access.cols.stride == 1 else col
    return text.index_text(plain, access.cols.sizes, access.cols.strides)


def _divisor(node: Node) -> Value | None:
    if (
        node.op != "div"
        or COMPUTE_TYPES[node.output.dtype] != "float"
        or not isinstance(node.inputs[1], View)
    ):
        return None
    return node.inputs[1].value


def start_text(node: Node) -> str:
    """What a reduction over nothing gives."""
    ctype, value = accumulator_type(node), START[node.op]
    if ctype in INTEGER_LIMITS and value - value != 0:
        limit = INTEGER_LIMITS[ctype]
        return f"-{literal(limit, ctype)} - 1" if value < 0 else literal(limit, ctype)
    return literal(value, ctype)


def part_name(node: Node) -> str:
    """A thread's part of a reduction."""
    return f"{text.c_name(node.output)}_part"


def _kept_name(value: Value) -> str:
    return f"{value.name}_kept"


def _online_name(node: Node) -> str:
    return f"{node.views[0].value.name}_here"


def _padding(online: list[Node]) -> list[str]:
    lines = [f"    {_online_name(node)}[k][j] = -INFINITY;" for node in online]
    return ["#pragma unroll", "for (int j = 0; j < kWidth; ++j) {", *lines, "}"] if lines else []


def _deeper(lines: list[str] | None) -> list[str]:
    return [line if line.startswith("#") else f"    {line}" for line in lines or []]
