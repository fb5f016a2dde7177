"""Pointwise operators over one shape, in one pass: each value is read once and each result written once.

A thread loads several vectors before it computes, so that enough bytes are under way; an operand that is
broadcast is indexed by what its strides say.
"""

import typing
from dataclasses import dataclass, replace

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import (
    ITEM_BYTES,
    Graph,
    Node,
    Shape,
    Value,
    View,
    contiguous_strides,
)
from warpsmith.policy.builtin.operators import COMPUTE_TYPES, STORAGE_TYPES, Term, cast, literal
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.base import Group, Part, Variant
from warpsmith.policy.builtin.recipes.fusion import Linking, fused_group, grow, is_pointwise
from warpsmith.policy.builtin.recipes.text import Read

# Which of the widths, threads a block, vectors in flight; best guess first.
SMALL_SHAPES = ((0, 256, 1), (0, 128, 1), (1, 256, 1), (0, 256, 2))
LARGE_SHAPES = ((0, 256, 1), (1, 256, 2), (0, 512, 2), (0, 256, 2), (1, 512, 2), (0, 256, 4), (1, 256, 4))


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The space that a kernel walks, with as few axes as its operands allow, and their strides in it."""

    sizes: Shape
    reads: tuple[Read, ...]
    strides: tuple[tuple[int, ...], ...]  # of each read
    widths: tuple[int, ...]  # elements a vector may have, widest first

    @property
    def is_flat(self) -> bool:
        return len(self.sizes) <= 1


class Elementwise:
    """Fused pointwise graphs with any broadcasting."""

    name = "elementwise"

    def match(self, graph: Graph, remaining: tuple[Node, ...]) -> Group | None:
        candidates = [node for node in remaining if is_pointwise(node) and node.views]
        if not candidates:
            return None
        seed = max(candidates, key=lambda node: node.output.numel)
        nodes = grow(graph, remaining, seed, _linking(seed))
        return _group(graph, nodes, seed.output.shape)

    def variants(self, group: Group, gpu: Gpu) -> tuple[Variant, ...]:
        walk = _walk(group)
        bytes_written = max(value.num_bytes for value in group.outputs)
        # A small tensor needs many short threads to reach every multiprocessor. For a large one, 16 bytes of
        # each operand under way in a thread were best on an H200.
        is_small = bytes_written < gpu.l2_bytes // 16
        shapes = SMALL_SHAPES if is_small else LARGE_SHAPES
        choices = [(walk.widths[min(k, len(walk.widths) - 1)], *shape) for k, *shape in shapes]
        return tuple(
            Variant(
                name=f"{width} wide, {threads} threads, {in_flight} in flight",
                settings={"width": width, "threads": threads, "in_flight": in_flight},
            )
            for width, threads, in_flight in dict.fromkeys(choices)
        )

    def emit(self, group: Group, variant: Variant) -> Part:
        source = _source(group, _walk(group), variant)
        made = [text.allocation(value, group.inputs) for value in group.outputs]
        num = _domain(group).output.numel
        return Part(
            file=f"kernels/{group.name}.cu",
            source=source,
            forward=(*made, text.call(group.name, group.inputs, group.outputs, (str(num),))),
            note=f"{_formula(group)} over {num} elements in one pass ({variant.name}).",
        )


def _linking(seed: Node) -> Linking:
    shape, numel = seed.output.shape, seed.output.numel

    def accepts(node: Node) -> bool:
        if not is_pointwise(node) or node.output.numel != numel:
            return False
        return all(views.reshape(view, shape) is not None for view in node.views)

    return Linking(
        accepts=accepts,
        fuses=lambda view, _node: view.is_in_order,
        shares=lambda view: view.is_in_order and numel > 1,
    )


def _group(graph: Graph, nodes: tuple[Node, ...], shape: Shape) -> Group:
    group = fused_group(graph, nodes, recipe=Elementwise.name, name=_name(nodes), launches=1, details=shape)
    return _without_progressions(group)


def _without_progressions(group: Group) -> Group:
    """Reads no operand that can be computed; but one operand must tell on which device it all is."""
    read = tuple(value for value in group.inputs if not _is_computable(value))
    if not read or len(read) == len(group.inputs):
        return group
    saved = sum(value.num_bytes for value in group.inputs) - sum(value.num_bytes for value in read)
    cost = replace(group.cost, traffic_bytes=group.cost.traffic_bytes - saved)
    return replace(group, inputs=read, cost=cost)


def _name(nodes: tuple[Node, ...]) -> str:
    operators = list(dict.fromkeys(node.op for node in nodes))
    return "_".join(operators[-4:]) + "_map"


def _formula(group: Group) -> str:
    return ", ".join(node.op for node in group.nodes)


def _domain(group: Group) -> Node:
    return group.nodes[0]


def _walk(group: Group) -> Walk:
    shape = typing.cast(Shape, group.details)
    made = {value for node in group.nodes for value in node.outputs}
    outside = tuple(view for node in group.nodes for view in node.views if view.value not in made)
    reads = text.distinct_reads(outside)
    shaped = [typing.cast(View, views.reshape(read.view, shape)) for read in reads]
    sizes, (_, *strides) = views.collapse(
        shape, contiguous_strides(shape), *(view.strides for view in shaped)
    )
    widest = 16 // min(ITEM_BYTES[value.dtype] for value in _full_size(group))
    widths = tuple(
        width
        for width in (16, 8, 4, 2, 1)
        if width <= min(widest, 8) and _is_aligned(width, sizes, shaped, tuple(strides))
    )
    return Walk(sizes=sizes, reads=reads, strides=tuple(strides), widths=_preferred(widths, group))


def _full_size(group: Group) -> list[Value]:
    numel = _domain(group).output.numel
    return [value for value in group.inputs + group.outputs if value.numel == numel]


def _preferred(widths: tuple[int, ...], group: Group) -> tuple[int, ...]:
    """First the width at which the largest items fill 16 bytes."""
    best = 16 // max(ITEM_BYTES[value.dtype] for value in _full_size(group))
    return tuple(sorted(widths, key=lambda width: (width > best, -width)))


def _is_aligned(width: int, sizes: Shape, shaped: list[View], strides: tuple[tuple[int, ...], ...]) -> bool:
    """Whether vectors of `width` never cross the end of a row, nor start off their alignment."""
    if len(sizes) > 1 and sizes[-1] % width:
        return False
    for view, steps in zip(shaped, strides, strict=True):
        is_vector = bool(steps) and steps[-1] == 1
        if is_vector and (view.offset % width or any(step % width for step in steps[:-1])):
            return False
    return True


# The text


def _source(group: Group, walk: Walk, variant: Variant) -> str:
    settings = {key: variant.number(key) for key in ("width", "threads", "in_flight")}
    numel = _domain(group).output.numel
    width = settings["width"]
    index = "long long" if numel >= 2**31 - 2**20 else "int"
    is_ragged = walk.is_flat and numel % width != 0
    pieces = [
        text.comment(_header(group, walk)),
        text.headers(group.inputs + group.outputs),
        "namespace {",
        f"constexpr int kWidth = {width};  // elements of a vector\n"
        f"constexpr int kInFlight = {settings['in_flight']};  // vectors loaded before any is computed\n"
        f"constexpr int kThreads = {settings['threads']};\n"
        "constexpr int kBlock = kInFlight * kThreads * kWidth;  // elements of a block",
        text.VECTOR.rstrip(),
        *([PROGRESSION] if _progressions(group, walk) else []),
        _element_function(group, walk),
        _kernel(group, walk, index, is_ragged=is_ragged),
        "}  // namespace",
        _launcher(group, index),
    ]
    return "\n\n".join(pieces) + "\n"


PROGRESSION = """\
// An operand that is computed where it would be read: first, first + step, and so on.
template <typename T>
struct Progression {
    T first, step;

    __device__ __forceinline__ T operator[](long long place) const { return first + (T)place * step; }

    __device__ __forceinline__ Progression operator+(long long place) const {
        return {first + (T)place * step, step};
    }
};

template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load(const Progression<T>& from) {
    Vector<T, N> values;
#pragma unroll
    for (int j = 0; j < N; ++j) {
        values.at[j] = from[j];
    }
    return values;
}"""


def _progressions(group: Group, walk: Walk) -> list[str]:
    """The operands that are computed, under the names of the pointers that they would be."""
    lines: list[str] = []
    for value in dict.fromkeys(read.view.value for read in walk.reads):
        if value not in group.inputs and value.progression is not None:
            ctype = STORAGE_TYPES[value.dtype]
            first, step = (literal(number, ctype) for number in value.progression)
            lines.append(f"const Progression<{ctype}> {text.c_name(value)} = {{{first}, {step}}};")
    return lines


def _is_computable(value: Value) -> bool:
    return value.progression is not None and STORAGE_TYPES[value.dtype] == COMPUTE_TYPES[value.dtype]


def _header(group: Group, walk: Walk) -> str:
    numel = _domain(group).output.numel
    lines = [
        f"{group.name}: {_formula(group)}.",
        "",
        f"Of {numel} elements, a thread computes kInFlight vectors of kWidth, kThreads vectors apart.",
    ]
    if not walk.is_flat:
        lines.append(
            f"The space walked is {' x '.join(map(str, walk.sizes))}; broadcast operands stay in cache."
        )
    lines.append(text.traffic(group.cost.traffic_bytes))
    return "\n".join(lines)


def _element_function(group: Group, walk: Walk) -> str:
    terms = {read.view: Term(text=read.name, ctype=read.ctype) for read in walk.reads}
    formals = [f"{read.ctype} {read.name}" for read in walk.reads]
    formals += [f"{COMPUTE_TYPES[value.dtype]}& {_result(value)}" for value in group.outputs]
    lines = [text.node_line(node, terms) for node in group.nodes]
    lines += [f"{_result(value)} = {text.c_name(value)};" for value in group.outputs]
    return text.function("__device__ __forceinline__ void element", formals, lines)


def _result(value: Value) -> str:
    return f"{value.name}_j"


def _kernel(group: Group, walk: Walk, index: str, *, is_ragged: bool) -> str:
    formals = [*text.parameters(group.inputs, group.outputs), f"{index} size"]
    lines = [
        *_progressions(group, walk),
        f"const {index} first = ({index})blockIdx.x * kBlock + threadIdx.x * kWidth;",
        *(_declaration(read, steps) for read, steps in _read_strides(walk)),
        "#pragma unroll",
        "for (int k = 0; k < kInFlight; ++k) {",
        f"    const {index} index = first + k * (kThreads * kWidth);",
        f"    if ({_fits(is_ragged=is_ragged)}) {{",
        *("        " + line for read, steps in _read_strides(walk) for line in _load(read, steps, walk)),
        "    }",
        "}",
        "#pragma unroll",
        "for (int k = 0; k < kInFlight; ++k) {",
        f"    const {index} index = first + k * (kThreads * kWidth);",
        f"    if ({_fits(is_ragged=is_ragged)}) {{",
        *("        " + line for line in _vector_body(group, walk)),
        *(["    } else {", *("        " + line for line in _tail(group, walk, index))] if is_ragged else []),
        "    }",
        "}",
    ]
    return text.function(f"__global__ void __launch_bounds__(kThreads) {group.name}_kernel", formals, lines)


def _fits(*, is_ragged: bool) -> str:
    return "index + kWidth <= size" if is_ragged else "index < size"


def _read_strides(walk: Walk) -> list[tuple[Read, tuple[int, ...]]]:
    return list(zip(walk.reads, walk.strides, strict=True))


def _is_repeated(steps: tuple[int, ...]) -> bool:
    """One element serves a whole vector."""
    return not steps or steps[-1] == 0


def _declaration(read: Read, steps: tuple[int, ...]) -> str:
    storage = STORAGE_TYPES[read.view.dtype]
    kind = storage if _is_repeated(steps) else f"Vector<{storage}, kWidth>"
    return f"{kind} {read.name}[kInFlight];"


def _load(read: Read, steps: tuple[int, ...], walk: Walk) -> list[str]:
    place = _place(read, steps, walk)
    if _is_repeated(steps):
        return [f"{read.name}[k] = {read.pointer}[{place}];"]
    if steps[-1] == 1:
        return [f"{read.name}[k] = load<kWidth>({read.pointer} + {place});"]
    return [
        "#pragma unroll",
        "for (int j = 0; j < kWidth; ++j) {",
        f"    {read.name}[k].at[j] = {read.pointer}[{place} + j * {steps[-1]}];",
        "}",
    ]


def _place(read: Read, steps: tuple[int, ...], walk: Walk, variable: str = "index") -> str:
    if steps == contiguous_strides(walk.sizes):
        place = variable
    else:
        place = text.index_text(variable, walk.sizes, steps, num_bits=64)
    return f"{place} + {read.view.offset}" if read.view.offset else place


def _vector_body(group: Group, walk: Walk) -> list[str]:
    arguments = [
        _converted(read, f"{read.name}[k]{'' if _is_repeated(steps) else '.at[j]'}")
        for read, steps in _read_strides(walk)
    ]
    return [
        *(f"Vector<{STORAGE_TYPES[value.dtype]}, kWidth> {value.name}_at;" for value in group.outputs),
        "#pragma unroll",
        "for (int j = 0; j < kWidth; ++j) {",
        *("    " + line for line in _element_call(group, arguments)),
        *(f"    {value.name}_at.at[j] = {_stored(value)};" for value in group.outputs),
        "}",
        *(f"store({text.out_name(value)} + index, {value.name}_at);" for value in group.outputs),
    ]


def _tail(group: Group, walk: Walk, index: str) -> list[str]:
    """The elements of the last, incomplete vector, one by one."""
    arguments = [
        _converted(read, f"{read.pointer}[{_place(read, steps, walk, 'i')}]")
        for read, steps in _read_strides(walk)
    ]
    return [
        f"for ({index} i = index; i < size; ++i) {{",
        *("    " + line for line in _element_call(group, arguments)),
        *(f"    {text.out_name(value)}[i] = {_stored(value)};" for value in group.outputs),
        "}",
    ]


def _element_call(group: Group, arguments: list[str]) -> list[str]:
    declared = [f"{COMPUTE_TYPES[value.dtype]} {_result(value)};" for value in group.outputs]
    return [*declared, f"element({', '.join(arguments + [_result(value) for value in group.outputs])});"]


def _converted(read: Read, loaded: str) -> str:
    return cast(Term(text=loaded, ctype=STORAGE_TYPES[read.view.dtype]), read.ctype)


def _stored(value: Value) -> str:
    return cast(Term(text=_result(value), ctype=COMPUTE_TYPES[value.dtype]), STORAGE_TYPES[value.dtype])


def _launcher(group: Group, index: str) -> str:
    formals = [*text.launcher_parameters(group.inputs, group.outputs), f"{index} size", "cudaStream_t stream"]
    pointers = ", ".join(text.pointer_names(group.inputs, group.outputs))
    lines = [
        "const unsigned blocks = (unsigned)((size + kBlock - 1) / kBlock);",
        f"{group.name}_kernel<<<blocks, kThreads, 0, stream>>>({pointers}, size);",
        "return (int)cudaGetLastError();",
    ]
    return text.function(f'extern "C" int {group.name}', formals, lines)
