"""The CUDA text of a scan."""

import re
from dataclasses import dataclass

from warpsmith.policy.builtin.operators import COMPUTE_TYPES, STORAGE_TYPES, Term, cast, literal
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.row_layout import Layout
from warpsmith.policy.builtin.recipes.row_operands import (
    RowOperands,
    deeper,
    each_element,
    each_vector,
)
from warpsmith.policy.builtin.recipes.wrapped import Wrapped
from warpsmith.policy.builtin.scans import STARTS

COL = re.compile(r"\bcol\b")
COMBINATIONS = {
    "cumsum": ["return a + b;"],
    "cumprod": ["return a * b;"],
    "cummax": ["return b >= a || b != b ? b : a;  // a NaN stays"],
    "cummin": ["return b <= a || b != b ? b : a;  // a NaN stays"],
    "logcumsumexp": [
        "const T larger = a > b || a != a ? a : b;",
        "const T smaller = a > b || a != a ? b : a;",
        "// Of two equal infinities there is no difference to take.",
        "return larger == smaller && isinf(larger) ? larger : larger + log1p$(exp$(smaller - larger));",
    ],
}

SCAN_WARP = """\
// Each lane's value combined with those of all lanes before it.
template <typename T>
__device__ __forceinline__ T scan_warp(T value) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const T before = __shfl_up_sync(0xffffffffu, value, step);
        value = lane >= step ? combine(before, value) : value;
    }
    return value;
}"""


@dataclass(frozen=True, slots=True)
class ScanText:
    """Writes one kernel and its launcher."""

    name: str
    wrapped: Wrapped
    operands: RowOperands
    layout: Layout

    @property
    def ctype(self) -> str:
        """What is scanned in."""
        ctype = COMPUTE_TYPES[self.wrapped.heart.output.dtype]
        return "int" if ctype == "bool" else ctype

    @property
    def start(self) -> str:
        return literal(STARTS[self.wrapped.heart.op], self.ctype)

    @property
    def is_reversed(self) -> bool:
        return bool(self.wrapped.heart.attributes["is_reversed"])

    def source(self, traffic: str) -> str:
        """The whole file."""
        pieces = [
            text.comment(f"{self._header()}\n{traffic}"),
            text.headers(self.operands.inputs + self.operands.writes),
            "namespace {",
            self._constants(),
            text.VECTOR.rstrip(),
            self._combine(),
            *([] if self.layout.is_side_by_side else [SCAN_WARP]),
            self._kernel(),
            "}  // namespace",
            self._launcher(),
        ]
        return "\n\n".join(pieces) + "\n"

    def _header(self) -> str:
        domain, heart = self.operands.domain, self.wrapped.heart
        how = ["from the last column to the first"] if self.is_reversed else []
        how += ["each element's own value left out"] if heart.attributes["is_exclusive"] else []
        formula = ", ".join(node.op for node in self.wrapped.nodes)
        lines = [
            f"{self.name}: {formula} along {domain.num_rows} rows of {domain.num_cols}"
            + "".join(f", {part}" for part in how)
            + ".",
            "",
            f"{self.layout.lanes} threads share a row; a trip covers {self.layout.trip_cols} columns.",
        ]
        return "\n".join(lines)

    def _constants(self) -> str:
        layout, lines = self.layout, self.layout.trip_constants
        if not layout.is_side_by_side and layout.lanes > 32:
            lines.append("constexpr int kWarps = kLanes / 32;")
        return "\n".join(lines)

    def _combine(self) -> str:
        lines = COMBINATIONS[self.wrapped.heart.op]
        suffix = "f" if self.ctype == "float" else ""
        body = [line.replace("$", suffix) for line in lines]
        return "template <typename T>\n" + text.function(
            "__device__ __forceinline__ T combine", ["T a", "T b"], body
        )

    # The kernel

    def _kernel(self) -> str:
        lines = [*self._shared(), *self._position(), *self.operands.starts()]
        lines += [f"{self.ctype} carry = {self.start};"]
        if self._num_buffers:
            lines += ["int buffer = 0;  // two in turn: one barrier a trip"]
        lines += ["for (int start = 0; start < kCols; start += kTrip) {", *deeper(self._trip()), "}"]
        head = f"__global__ void __launch_bounds__(kLanes * kRowsPerBlock) {self.name}_kernel"
        formals = [*text.parameters(self.operands.inputs, self.operands.writes), "int rows"]
        return text.function(head, formals, lines)

    @property
    def _num_buffers(self) -> int:
        side = self.layout.is_side_by_side and self.layout.lanes > 1
        return 2 if side or self.layout.lanes > 32 else 0

    def _shared(self) -> list[str]:
        if not self._num_buffers:
            return []
        size = "[kLanes][kRowsPerBlock]" if self.layout.is_side_by_side else "[kVectors * kWarps]"
        return [f"__shared__ {self.ctype} totals[2]{size};"]

    def _position(self) -> list[str]:
        if self.layout.rows_per_block == 1:
            return ["const int row = blockIdx.x;", "const int lane = threadIdx.x;"]
        side, lane = "threadIdx.x / kLanes", "threadIdx.x % kLanes"
        if self.layout.is_side_by_side:
            side, lane = "threadIdx.x % kRowsPerBlock", "threadIdx.x / kRowsPerBlock"
        return [
            f"const int side = {side};",
            "const int wanted = blockIdx.x * kRowsPerBlock + side;",
            "const bool is_live = wanted < rows;",
            "const int row = is_live ? wanted : rows - 1;  // past the end: again, but not written",
            f"const int lane = {lane};",
        ]

    def _trip(self) -> list[str]:
        """Load, scan what a thread has, exchange, write."""
        return [
            *self.operands.declarations(is_ragged=not self._is_whole),
            *self._each(self.operands.loads(self.layout.width, self._guard)),
            f"{self.ctype} at_[kVectors][kWidth];",
            *self._each(self._own(), otherwise=self._nothing()),
            *(self._across_side() if self.layout.is_side_by_side else self._across_row()),
            *self._each(self._results()),
        ]

    @property
    def _is_whole(self) -> bool:
        """No vector is partly beyond the last column."""
        return self.layout.num_cols % self.layout.width == 0

    @property
    def _guard(self) -> str | None:
        if self._is_whole:
            return None
        return "col + j >= 0" if self.is_reversed else "col + j < kCols"

    def _each(self, lines: list[str], otherwise: list[str] | None = None) -> list[str]:
        """`lines` for every vector that begins within the row; `col` is its first column in memory."""
        if not lines:
            return []
        place = "const int place = start + (k * kLanes + lane) * kWidth;"
        col = "const int col = kCols - kWidth - place;" if self.is_reversed else "const int col = place;"
        lines = [col, *lines] if any(COL.search(line) for line in lines) else lines
        if self.layout.is_exact:
            return each_vector([place, *lines] if lines[0] == col else lines)
        inner = [place, "if (place < kCols) {", *deeper(lines)]
        inner += ["} else {", *deeper(otherwise)] if otherwise else []
        return each_vector([*inner, "}"])

    @property
    def _at(self) -> str:
        """Where the j-th element to scan stands in its vector."""
        return "const int at = kWidth - 1 - j;" if self.is_reversed else "const int at = j;"

    def _own(self) -> list[str]:
        """What is scanned, and the scan of each vector by itself."""
        heart, terms = self.wrapped.heart, self.operands.terms
        lines = [self._at, *self.operands.elements((*self.wrapped.before, heart))]
        lines += [text.node_line(node, terms) for node in self.wrapped.before]
        (view,) = heart.views
        term = terms.get(view) or text.value_term(view.value)
        value = cast(term, self.ctype)
        if not self._is_whole:
            inside = "col + at >= 0" if self.is_reversed else "col + at < kCols"
            value = f"{inside} ? {value} : {self.start}"
        lines += [
            f"const {self.ctype} here = {value};",
            "at_[k][j] = j > 0 ? combine(at_[k][j - 1], here) : here;",
        ]
        return each_element(lines)

    def _nothing(self) -> list[str]:
        return each_element([f"at_[k][j] = {self.start};"])

    def _across_side(self) -> list[str]:
        """The few threads of a row meet in shared memory."""
        if self.layout.lanes == 1:
            return [
                f"const {self.ctype} base[kVectors] = {{carry}};",
                "carry = combine(carry, at_[0][kWidth - 1]);",
            ]
        return [
            "totals[buffer][lane][side] = at_[0][kWidth - 1];",
            "__syncthreads();",
            f"{self.ctype} base[kVectors] = {{carry}};",
            "#pragma unroll",
            "for (int other = 0; other < kLanes; ++other) {",
            f"    const {self.ctype} total = totals[buffer][other][side];",
            "    base[0] = other < lane ? combine(base[0], total) : base[0];",
            "    carry = combine(carry, total);",
            "}",
            "buffer ^= 1;",
        ]

    def _across_row(self) -> list[str]:
        """What came before each of a thread's vectors; the carry takes up the whole trip."""
        lines = [
            f"{self.ctype} base[kVectors];  // all that came before the vector",
            f"{self.ctype} total[kVectors];  // of a warp's vectors together",
            *each_vector(
                [
                    f"const {self.ctype} scanned = scan_warp(at_[k][kWidth - 1]);",
                    f"const {self.ctype} before = __shfl_up_sync(0xffffffffu, scanned, 1);",
                    f"base[k] = threadIdx.x % 32 > 0 ? before : {self.start};",
                    "total[k] = __shfl_sync(0xffffffffu, scanned, 31);",
                ]
            ),
        ]
        if self.layout.lanes == 32:
            return [
                *lines,
                *each_vector(["base[k] = combine(carry, base[k]);", "carry = combine(carry, total[k]);"]),
            ]
        return [
            *lines,
            "const int warp = threadIdx.x / 32;",
            "if (threadIdx.x % 32 == 0) {",
            *deeper(each_vector(["totals[buffer][k * kWarps + warp] = total[k];"])),
            "}",
            "__syncthreads();",
            "const int slot = threadIdx.x % 32;",
            f"const {self.ctype} found = slot < kVectors * kWarps ? totals[buffer][slot] : {self.start};",
            f"const {self.ctype} scanned = scan_warp(found);",
            *each_vector(
                [
                    "const int earlier = k * kWarps + warp - 1;",
                    "const int lane_before = earlier > 0 ? earlier : 0;",
                    f"const {self.ctype} before = __shfl_sync(0xffffffffu, scanned, lane_before);",
                    "base[k] = combine(earlier >= 0 ? combine(carry, before) : carry, base[k]);",
                ]
            ),
            "carry = combine(carry, __shfl_sync(0xffffffffu, scanned, 31));",
            "buffer ^= 1;",
        ]

    def _results(self) -> list[str]:
        heart, terms, after = self.wrapped.heart, self.operands.terms, self.wrapped.after
        whole = "combine(base[k], at_[k][j])"
        if heart.attributes["is_exclusive"]:
            whole = "j > 0 ? combine(base[k], at_[k][j - 1]) : base[k]"
        result = COMPUTE_TYPES[heart.output.dtype]
        name = text.c_name(heart.output)
        element = [self._at, *self.operands.elements(after)]
        element += [f"const {result} {name} = {cast(Term(text=f'({whole})', ctype=self.ctype), result)};"]
        element += [text.node_line(node, terms) for node in after]
        element += [f"{value.name}_at.at[at] = {text.stored(value)};" for value in self.operands.writes]
        stores = self.operands.stores(self.layout.width, self._guard)
        if self.layout.rows_per_block > 1:
            stores = ["if (is_live) {", *deeper(stores), "}"]
        vectors = [
            f"Vector<{STORAGE_TYPES[value.dtype]}, kWidth> {value.name}_at;" for value in self.operands.writes
        ]
        return [*vectors, *each_element(element), *stores]

    def _launcher(self) -> str:
        inputs, outputs = self.operands.inputs, self.operands.writes
        formals = [*text.launcher_parameters(inputs, outputs), "int rows", "cudaStream_t stream"]
        pointers = ", ".join(text.pointer_names(inputs, outputs))
        lines = [
            "const int blocks = (rows + kRowsPerBlock - 1) / kRowsPerBlock;",
            f"{self.name}_kernel<<<blocks, kLanes * kRowsPerBlock, 0, stream>>>({pointers}, rows);",
            "return (int)cudaGetLastError();",
        ]
        return text.function(f'extern "C" int {self.name}', formals, lines)
