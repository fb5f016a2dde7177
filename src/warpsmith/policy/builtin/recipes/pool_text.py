"""The CUDA text of a pooling."""

from dataclasses import dataclass

from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import View
from warpsmith.policy.builtin.operators import COMPUTE_TYPES, STORAGE_TYPES, Term, cast, literal
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.base import Group
from warpsmith.policy.builtin.recipes.pool_geometry import MAX_ROWS, Pooling, Tiling, num_rows, row_step
from warpsmith.policy.builtin.recipes.row_operands import deeper, each_element, each_vector
from warpsmith.policy.builtin.recipes.text import Read
from warpsmith.policy.builtin.recipes.wrapped import Wrapped

IN_FLIGHT = 8  # vectors that a thread loads before it combines any
AXES = ("Depth", "Height", "Width")

COMBINE_MAX = """\
template <typename T>
__device__ __forceinline__ T combine(T a, T b) {
    return b > a || b != b ? b : a;  // a NaN stays
}"""

COMBINE_SUM = """\
template <typename T>
__device__ __forceinline__ T combine(T a, T b) {
    return a + b;
}"""

TAKES = """\
// Whether window `o` of those that a thread makes together has an element in `row` of those that it reads.
__device__ constexpr bool takes(int o, int row) {
    return row < kRows && row * kRowStep >= o * kStrideHeight &&
           (row * kRowStep - o * kStrideHeight) % kDilationHeight == 0 &&
           (row * kRowStep - o * kStrideHeight) / kDilationHeight < kKernelHeight;
}"""

COUNT = """\
// Elements of a window along one axis; it ends with the padding.
__device__ __forceinline__ int count(int out, int kernel, int stride, int padding, int size) {
    const int first = out * stride - padding;
    const int past = first + kernel < size + padding ? first + kernel : size + padding;
    BODY
}"""
COUNT_BODIES = {
    True: "return past - first;",
    False: "return (past < size ? past : size) - (first > 0 ? first : 0);",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolText:
    """Writes one kernel and its launcher."""

    group: Group
    wrapped: Wrapped
    pooling: Pooling
    tiling: Tiling

    @property
    def ctype(self) -> str:
        return COMPUTE_TYPES[self.wrapped.heart.output.dtype]

    @property
    def start(self) -> str:
        """What an empty window gives."""
        return literal(float("-inf") if self.pooling.is_max else 0.0, self.ctype)

    @property
    def reads(self) -> tuple[Read, ...]:
        """The operands at an element of the input."""
        return text.distinct_reads(self.wrapped.operands((*self.wrapped.before, self.wrapped.heart)))

    @property
    def later_reads(self) -> tuple[Read, ...]:
        """The operands at an element of the output."""
        return text.distinct_reads(self.wrapped.operands(self.wrapped.after))

    def source(self) -> str:
        """The whole file."""
        needs_count = not self.pooling.is_max and self.pooling.fixed_divisor is None
        count = COUNT.replace("BODY", COUNT_BODIES[self.pooling.counts_padding])
        body = [
            COMBINE_MAX if self.pooling.is_max else COMBINE_SUM,
            *([TAKES] if self.tiling.tall > 1 else []),
            *([count] if needs_count else []),
            self._kernel(),
            "}  // namespace",
            self._launcher(),
        ]
        pieces = [
            text.comment(self._header()),
            text.headers(self.group.inputs + self.group.outputs),
            "namespace {",
            self._constants("\n\n".join(body)),
            text.VECTOR.rstrip(),
            *body,
        ]
        return "\n\n".join(pieces) + "\n"

    def _header(self) -> str:
        formula = ", ".join(node.op for node in self.group.nodes)
        return "\n".join(
            [
                f"{self.group.name}: {formula}, {self.pooling.num_planes} planes.",
                "",
                "A thread combines its columns over depth and height, for kTall rows of windows at once;",
                "windows are then combined along the width, in shared memory.",
                text.traffic(self.group.cost.traffic_bytes),
            ]
        )

    def _constants(self, body: str) -> str:
        """Those that `body` uses, or the sizes of the tile."""
        pooling, tiling = self.pooling, self.tiling
        lines: list[str] = []
        for name, axis in zip(AXES, pooling.axes, strict=True):
            sizes = {
                f"kIn{name}": axis.size,
                f"kOut{name}": axis.out,
                f"kKernel{name}": axis.kernel,
                f"kStride{name}": axis.stride,
                f"kPadding{name}": axis.padding,
                f"kDilation{name}": axis.dilation,
            }
            used = [f"{constant} = {size}" for constant, size in sizes.items() if constant in body]
            lines += [f"constexpr int {', '.join(part)};" for part in (used[:4], used[4:]) if part]
        rows = num_rows(pooling, tiling.tall)
        lines += [
            f"constexpr int kLanes = {tiling.lanes};  // threads along the width",
            f"constexpr int kStrips = {tiling.strips};  // groups of rows in a block",
            f"constexpr int kWidth = {tiling.width};  // columns of a vector",
            f"constexpr int kVectors = {tiling.vectors};  // vectors of a thread in a row",
            f"constexpr int kTall = {tiling.tall};  // rows of windows that a thread makes together",
            f"constexpr int kRows = {rows};  // of the input, for these",
            f"constexpr int kRowStep = {row_step(pooling, tiling.tall)};",
            f"constexpr int kBatch = {self._batch};  // rows loaded before any is combined",
            f"constexpr int kOuts = {tiling.outs};  // columns of windows of a block",
            f"constexpr int kShift = {tiling.shift};  // columns before the first window",
            "constexpr int kRowGroups = (kOutHeight + kTall - 1) / kTall;",
            f"constexpr int kNumStrips = {pooling.num_planes} * kOutDepth * kRowGroups;",
        ]
        return "\n".join(lines)

    @property
    def _has_depth(self) -> bool:
        depth = self.pooling.axes[0]
        return not (depth.size == depth.kernel == depth.out == 1)

    @property
    def _batch(self) -> int:
        most = max(1, IN_FLIGHT // self.tiling.vectors)
        return min(most, num_rows(self.pooling, self.tiling.tall))

    # The kernel

    def _kernel(self) -> str:
        each = "for (int o = 0; o < kTall; ++o) {"
        store = "columns[side][o][k * kLanes + lane] = found[o][k];"
        lines = [
            f"__shared__ Vector<{self.ctype}, kWidth> columns[kStrips][kTall][kLanes * kVectors];",
            *self._position(),
            *self._starts(),
            f"Vector<{self.ctype}, kWidth> found[kTall][kVectors];",
            "#pragma unroll",
            each,
            *deeper(each_vector(each_element([f"found[o][k].at[j] = {self.start};"]))),
            "}",
            *self._depth_loop(),
            "#pragma unroll",
            each,
            *deeper(each_vector([store])),
            "}",
            "__syncthreads();",
            *self._results(),
        ]
        head = f"__global__ void __launch_bounds__(kLanes * kStrips) {self.group.name}_kernel"
        return text.function(head, text.parameters(self.group.inputs, self.group.outputs), lines)

    def _position(self) -> list[str]:
        return [
            "const int lane = threadIdx.x % kLanes;",
            "const int side = threadIdx.x / kLanes;",
            "const int wanted = blockIdx.x * kStrips + side;",
            "const int strip = wanted < kNumStrips ? wanted : kNumStrips - 1;  // past the end: not written",
            "const int plane = strip / (kOutDepth * kRowGroups);",
            "const int z = strip / kRowGroups % kOutDepth;",
            "const int y = strip % kRowGroups * kTall;",
            "const int first = blockIdx.y * kOuts;  // column of windows",
            "const int start = first * kStrideWidth - kPaddingWidth - kShift;  // column of the input",
        ]

    def _seen(self, view: View) -> View:
        """An operand in the input's shape."""
        found = views.reshape(view, self.wrapped.heart.views[0].shape)
        assert found is not None  # the match has looked
        return found

    def _steps(self, view: View) -> tuple[int, int, int]:
        """From plane to plane in depth, from row to row, from column to column."""
        found = self._seen(view).strides[len(self.pooling.lead) :]
        depth, height, width = (0,) * (3 - len(found)) + found
        return depth, height, width

    def _is_walked(self, read: Read) -> bool:
        return any(self._steps(read.view))

    def _starts(self) -> list[str]:
        """Where the plane begins in each operand, and what there is one of a plane."""
        lines: list[str] = []
        num_lead = len(self.pooling.lead)
        for read in self.reads:
            seen, storage = self._seen(read.view), STORAGE_TYPES[read.view.dtype]
            place = text.index_text("plane", self.pooling.lead, seen.strides[:num_lead], num_bits=64)
            place = f"{seen.offset} + {place}" if seen.offset else place
            if self._is_walked(read):
                lines.append(f"const {storage}* {_stem(read)}_plane = {read.pointer} + {place};")
            else:
                loaded = _loaded(read, f"{read.pointer}[{place}]")
                lines.append(f"const {read.ctype} {read.name} = {loaded};")
        return lines

    def _depth_loop(self) -> list[str]:
        body = self._height_loop()
        if not self._has_depth:
            return body
        return [
            "for (int i = 0; i < kKernelDepth; ++i) {",
            "    const int in_z = z * kStrideDepth - kPaddingDepth + i * kDilationDepth;",
            "    if (in_z < 0 || in_z >= kInDepth) {",
            "        continue;",
            "    }",
            *deeper(body),
            "}",
        ]

    def _height_loop(self) -> list[str]:
        """Load a few rows, then combine them."""
        walked = [read for read in self.reads if self._is_walked(read)]
        is_straight = num_rows(self.pooling, self.tiling.tall) <= MAX_ROWS
        lines = [
            *(
                f"Vector<{STORAGE_TYPES[read.view.dtype]}, kWidth> {read.name}[kBatch][kVectors];"
                for read in walked
            ),
            "bool is_inside[kBatch][kVectors];",
            *self._each_row(
                [
                    "const int in_y = y * kStrideHeight - kPaddingHeight + (r + b) * kRowStep;",
                    "bool is_read = in_y >= 0 && in_y < kInHeight;",
                    *self._unless_taken(),
                    *each_vector(
                        [
                            "const int col = start + (k * kLanes + lane) * kWidth;",
                            "is_inside[b][k] = is_read && col >= 0 && col < kInWidth;",
                            "if (is_inside[b][k]) {",
                            *deeper([line for read in walked for line in self._load(read)]),
                            "}",
                        ]
                    ),
                ]
            ),
            *self._each_row(
                each_vector(["if (is_inside[b][k]) {", *deeper(each_element(self._element())), "}"])
            ),
        ]
        unroll = ["#pragma unroll"] if is_straight else []
        return [*unroll, "for (int r = 0; r < kRows; r += kBatch) {", *deeper(lines), "}"]

    def _unless_taken(self) -> list[str]:
        if self.tiling.tall == 1:
            return ["is_read = is_read && r + b < kRows;"]
        return [
            "bool is_taken = false;",
            "#pragma unroll",
            "for (int o = 0; o < kTall; ++o) {",
            "    is_taken = is_taken || takes(o, r + b);",
            "}",
            "is_read = is_read && is_taken;",
        ]

    def _each_row(self, lines: list[str]) -> list[str]:
        return ["#pragma unroll", "for (int b = 0; b < kBatch; ++b) {", *deeper(lines), "}"]

    def _load(self, read: Read) -> list[str]:
        depth, height, width = self._steps(read.view)
        plane, target = f"{_stem(read)}_plane", f"{read.name}[b][k]"
        places = [_times("in_z", depth), _times("in_y", height)]
        row = " + ".join(place for place in places if place)
        row = f"{row} + " if row else ""
        if width == 1:
            return [f"{target} = load<kWidth>({plane} + {row}col);"]
        # A vector of such an operand has one element.
        return [f"{target}.at[0] = {plane}[{row}{_times('col', width) or '0'}];"]

    def _element(self) -> list[str]:
        heart, terms = self.wrapped.heart, self._terms
        lines = [
            f"const {read.ctype} {_stem(read)}_j = {_loaded(read, f'{read.name}[b][k].at[j]')};"
            for read in self.reads
            if self._is_walked(read)
        ]
        lines += [text.node_line(node, terms) for node in self.wrapped.before]
        (view,) = heart.views
        value = cast(terms.get(view) or text.value_term(view.value), self.ctype)
        combined = "found[o][k].at[j] = combine(found[o][k].at[j], here);"
        lines += [f"const {self.ctype} here = {value};"]
        if self.tiling.tall == 1:
            return [*lines, combined.replace("[o]", "[0]")]
        return [
            *lines,
            "#pragma unroll",
            "for (int o = 0; o < kTall; ++o) {",
            "    if (takes(o, r + b)) {",
            f"        {combined}",
            "    }",
            "}",
        ]

    @property
    def _terms(self) -> dict[View, Term]:
        return {
            read.view: Term(text=f"{_stem(read)}_j" if self._is_walked(read) else read.name, ctype=read.ctype)
            for read in self.reads
        }

    # Along the width

    def _results(self) -> list[str]:
        unroll = ["#pragma unroll"] if self.pooling.axes[2].kernel <= MAX_ROWS else []
        window = [
            f"const {self.ctype}* row = reinterpret_cast<const {self.ctype}*>(columns[side][o]);",
            f"{self.ctype} whole = {self.start};",
            *unroll,
            "for (int t = 0; t < kKernelWidth; ++t) {",
            "    whole = combine(whole, row[c * kStrideWidth + t * kDilationWidth + kShift]);",
            "}",
            *self._outputs(),
        ]
        return [
            "if (wanted >= kNumStrips) {",
            "    return;",
            "}",
            "for (int c = lane; c < kOuts && first + c < kOutWidth; c += kLanes) {",
            "#pragma unroll",
            "    for (int o = 0; o < kTall; ++o) {",
            "        if (y + o < kOutHeight) {",
            *deeper(deeper(deeper(window))),
            "        }",
            "    }",
            "}",
        ]

    def _outputs(self) -> list[str]:
        heart, index = self.wrapped.heart, "int"
        if heart.output.numel >= 2**31:
            index = "long long"
        place = f"((({index})plane * kOutDepth + z) * kOutHeight + y + o) * kOutWidth + first + c"
        lines = [f"const {index} index = {place};"]
        reads = self.later_reads
        shape = heart.output.shape
        terms = {read.view: Term(text=f"{_stem(read)}_here", ctype=read.ctype) for read in reads}
        for read in reads:
            seen = views.reshape(read.view, shape)
            assert seen is not None  # the match has looked
            at = text.index_text("index", shape, seen.strides, num_bits=64)
            at = f"{seen.offset} + {at}" if seen.offset else at
            loaded = _loaded(read, f"{read.pointer}[{at}]")
            lines.append(f"const {read.ctype} {terms[read.view].text} = {loaded};")
        lines.append(f"const {self.ctype} {text.c_name(heart.output)} = {self._completed()};")
        lines += [text.node_line(node, terms) for node in self.wrapped.after]
        return lines + [
            f"{text.out_name(value)}[index] = {text.stored(value)};" for value in self.group.outputs
        ]

    def _completed(self) -> str:
        if self.pooling.is_max:
            return "whole"
        divisor = self.pooling.fixed_divisor
        if divisor is not None:
            return f"whole * {literal(1.0 / divisor, self.ctype)}"
        places = {"Depth": "z", "Height": "y + o", "Width": "first + c"}
        counts = [
            f"count({places[name]}, kKernel{name}, kStride{name}, kPadding{name}, kIn{name})"
            for name, axis in zip(AXES, self.pooling.axes, strict=True)
            if axis.kernel > 1
        ]
        return f"whole / ({self.ctype})({' * '.join(counts)})"

    def _launcher(self) -> str:
        inputs, outputs = self.group.inputs, self.group.outputs
        formals = [*text.launcher_parameters(inputs, outputs), "cudaStream_t stream"]
        pointers = ", ".join(text.pointer_names(inputs, outputs))
        lines = [
            "const dim3 blocks((kNumStrips + kStrips - 1) / kStrips, (kOutWidth + kOuts - 1) / kOuts);",
            f"{self.group.name}_kernel<<<blocks, kLanes * kStrips, 0, stream>>>({pointers});",
            "return (int)cudaGetLastError();",
        ]
        return text.function(f'extern "C" int {self.group.name}', formals, lines)


def _loaded(read: Read, place: str) -> str:
    """An element in memory as what it is computed in."""
    return cast(Term(text=place, ctype=STORAGE_TYPES[read.view.dtype]), read.ctype)


def _stem(read: Read) -> str:
    return read.name.removesuffix("_at")


def _times(index: str, step: int) -> str:
    if not step:
        return ""
    return index if step == 1 else f"{index} * {step}"
