"""C and Python text that every recipe writes: names, index arithmetic, signatures, vectors, expressions."""

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from warpsmith.policy.builtin.graph import Node, Number, Operand, Shape, Value, View
from warpsmith.policy.builtin.operators import COMPUTE_TYPES, STORAGE_TYPES, Term, cast, pointwise_expression

# fmt: off
C_WORDS = frozenset((
    "auto", "bool", "break", "case", "char", "class", "const", "continue", "default", "delete", "do",
    "double", "else", "enum", "explicit", "extern", "float", "for", "goto", "if", "inline", "int",
    "long", "namespace", "new", "operator", "private", "public", "register", "return", "short",
    "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw", "union", "unsigned",
    "using", "virtual", "void", "volatile", "while", "and", "or", "not", "xor",
))

# Variables and functions of the kernels themselves: an operand of such a name gets another.
LOCAL_WORDS = frozenset((
    "at", "at_", "b", "base", "before", "best", "block", "blocks", "buffer", "c", "carry", "col",
    "columns", "combine", "count", "earlier", "element", "first", "found", "here", "i", "in_y", "in_z",
    "index", "is_inside", "is_live", "is_read", "is_taken", "j", "k", "lane", "lane_before", "load",
    "o", "other", "partial", "place", "plane", "r", "row", "rows", "scanned", "shift", "side", "size",
    "slot", "start", "store", "stream", "strip", "t", "takes", "total", "totals", "value", "wanted",
    "warp", "whole", "y", "z",
))
# fmt: on

CONSTANT = re.compile(r"k[A-Z]")  # so begin the names of constants

VECTOR = """\
// N elements moved by one instruction: 16 bytes at most, hence the alignment.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T at[N];
};

template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load(const T* from) {
    return *reinterpret_cast<const Vector<T, N>*>(from);
}

template <int N, typename T>
__device__ __forceinline__ void store(T* to, const Vector<T, N>& values) {
    *reinterpret_cast<Vector<T, N>*>(to) = values;
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A view that a kernel loads, under the name of a variable."""

    view: View
    name: str

    @property
    def ctype(self) -> str:
        return COMPUTE_TYPES[self.view.dtype]

    @property
    def pointer(self) -> str:
        return c_name(self.view.value)


def c_name(value: Value) -> str:
    """The C variable or parameter of a value."""
    is_taken = value.name in C_WORDS or value.name in LOCAL_WORDS or CONSTANT.match(value.name)
    return f"{value.name}_" if is_taken else value.name


def out_name(value: Value) -> str:
    """The C parameter through which a value is written."""
    return f"{value.name}_out"


def distinct_reads(views: tuple[View, ...]) -> tuple[Read, ...]:
    """A Read for each distinct view; the second view of one value gets another variable."""
    reads: list[Read] = []
    for view in dict.fromkeys(views):
        twins = sum(read.view.value == view.value for read in reads)
        stem = c_name(view.value)
        reads.append(Read(view=view, name=f"{stem}_{twins + 1}_at" if twins else f"{stem}_at"))
    return tuple(reads)


def index_text(variable: str, sizes: Shape, strides: tuple[int, ...], *, num_bits: int = 32) -> str:
    """Where element `variable` of a walk over `sizes` lies, as C text; "0" for strides that are all 0."""
    terms: list[str] = []
    inner = 1
    for axis in reversed(range(len(sizes))):
        size, stride = sizes[axis], strides[axis]
        if stride and size > 1:
            position = variable if inner == 1 else f"{variable} / {inner}"
            if axis:
                position = f"{position} % {size}"
            terms.append(_scaled(position, stride, num_bits))
        inner *= size
    return " + ".join(reversed(terms)) or "0"


def _scaled(position: str, stride: int, num_bits: int) -> str:
    if stride == 1:
        return position if " " not in position else f"({position})"
    factor = f"{stride}LL" if num_bits == 64 else str(stride)
    return f"{position} * {factor}" if " " not in position else f"({position}) * {factor}"


def node_line(node: Node, terms: Mapping[View, Term]) -> str:
    """`const float exp_1 = expf(sub_1);`"""
    arguments = tuple(_argument(operand, terms) for operand in node.inputs if not isinstance(operand, str))
    output = node.output
    text = pointwise_expression(node.op, arguments, output.dtype)
    return f"const {COMPUTE_TYPES[output.dtype]} {c_name(output)} = {text};"


def value_term(value: Value) -> Term:
    """A value that an earlier line of the kernel has made."""
    return Term(text=c_name(value), ctype=COMPUTE_TYPES[value.dtype])


def _argument(operand: Operand, terms: Mapping[View, Term]) -> Term | Number:
    if isinstance(operand, View):
        return terms.get(operand) or value_term(operand.value)
    assert isinstance(operand, bool | int | float)
    return operand


def stored(value: Value) -> str:
    """The value's variable as its storage type: `(__half)y`."""
    return cast(value_term(value), STORAGE_TYPES[value.dtype])


def parameters(inputs: tuple[Value, ...], outputs: tuple[Value, ...]) -> list[str]:
    """A kernel's pointers; none of them overlap."""
    read = [f"const {STORAGE_TYPES[value.dtype]}* __restrict__ {c_name(value)}" for value in inputs]
    return read + [f"{STORAGE_TYPES[value.dtype]}* __restrict__ {out_name(value)}" for value in outputs]


def launcher_parameters(inputs: tuple[Value, ...], outputs: tuple[Value, ...]) -> list[str]:
    """A launcher's pointers."""
    return [text.replace(" __restrict__", "") for text in parameters(inputs, outputs)]


def pointer_names(inputs: tuple[Value, ...], outputs: tuple[Value, ...]) -> list[str]:
    """The pointers of both, as arguments."""
    return [c_name(value) for value in inputs] + [out_name(value) for value in outputs]


def function(head: str, formals: list[str], lines: list[str]) -> str:
    """A function's text, its parameters wrapped where they are long."""
    joined = f"{head}({', '.join(formals)}) {{"
    if len(joined) > 108:
        # Between parameters, not inside one.
        wrapped = textwrap.wrap(", ".join(formal.replace(" ", "\x00") for formal in formals), 104)
        body = "\n".join(f"    {line}" for line in wrapped).replace("\x00", " ")
        joined = f"{head}(\n{body}) {{"
    return f"{joined}\n{indent(lines, 1)}\n}}"


def headers(values: tuple[Value, ...]) -> str:
    """The includes that a kernel over `values` needs."""
    dtypes = {value.dtype for value in values}
    lines = ["#include <cuda_runtime.h>"]
    if "float16" in dtypes:
        lines.append("#include <cuda_fp16.h>")
    if "bfloat16" in dtypes:
        lines.append("#include <cuda_bf16.h>")
    return "\n".join([*lines, "#include <math.h>"])


def comment(text: str) -> str:
    """`text` as a block of // lines."""
    lines = [line for paragraph in text.splitlines() for line in textwrap.wrap(paragraph, 106) or [""]]
    return "\n".join(f"// {line}".rstrip() for line in lines)


def indent(lines: list[str], depth: int) -> str:
    """Lines as a block, `depth` steps of four spaces deep; preprocessor lines stay at the margin."""
    return "\n".join(line if line.startswith("#") or not line else "    " * depth + line for line in lines)


def allocation(value: Value, inputs: tuple[Value, ...]) -> str:
    """The Python line that makes the tensor for `value`."""
    for other in inputs:
        if (other.shape, other.dtype) == (value.shape, value.dtype):
            return f"{value.name} = torch.empty_like({other.expression})"
    shape = f"({value.shape[0]},)" if len(value.shape) == 1 else str(value.shape)
    options = f"dtype=torch.{value.dtype}, device={inputs[0].expression}.device"
    return f"{value.name} = torch.empty({shape}, {options})"


def call(name: str, inputs: tuple[Value, ...], outputs: tuple[Value, ...], sizes: tuple[str, ...]) -> str:
    """The Python line that calls a launcher."""
    arguments = [value.expression for value in inputs + outputs] + list(sizes)
    return f"cuda_extension.{name}({', '.join(arguments)})"


def megabytes(num_bytes: int) -> str:
    """A size for a reader."""
    return f"{num_bytes / 1e6:.1f} MB" if num_bytes >= 100_000 else f"{num_bytes / 1e3:.1f} kB"


def traffic(num_bytes: int) -> str:
    """The predicted traffic, for a reader."""
    return f"Traffic: {megabytes(num_bytes)}, every operand read once and every result written once."
