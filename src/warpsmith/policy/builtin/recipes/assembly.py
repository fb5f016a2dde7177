"""Tensors put together from pieces, in one launch: each block copies a part of one piece to its place.

What is pointwise before a piece, or after the whole, is computed on the way.
"""

import math
from dataclasses import dataclass, replace
from functools import partial

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import (
    ITEM_BYTES,
    Graph,
    Node,
    Operand,
    Shape,
    Value,
    View,
    contiguous_strides,
)
from warpsmith.policy.builtin.operators import COMPUTE_TYPES, STORAGE_TYPES, Term, cast, literal
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.base import Group, Part, Variant
from warpsmith.policy.builtin.recipes.text import Read
from warpsmith.policy.builtin.recipes.wrapped import Wrapped, most_nodes, wrap

MAX_PIECES = 260  # each is a branch of the kernel
SHAPES = ((0, 256), (0, 128), (0, 512), (1, 256))  # which of the widths, threads of a block; best guess first


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An operand, as seen from a piece's box."""

    read: Read
    strides: tuple[int, ...]  # over the sizes that the piece walks
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A piece: the space that it walks, where it goes, and what it reads."""

    operand: Operand
    nodes: tuple[Node, ...]  # pointwise, before the piece
    sizes: Shape
    strides: tuple[int, ...]  # of the output
    offset: int
    sources: tuple[Source, ...]
    widths: tuple[int, ...]  # elements a vector may have, widest first

    @property
    def numel(self) -> int:
        return math.prod(self.sizes)


class Assembly:
    """cat, stack, pad and what else is copied together from pieces."""

    name = "assembly"

    def match(self, graph: Graph, remaining: tuple[Node, ...]) -> Group | None:
        """The one among `remaining` with most pointwise nodes around it."""
        hearts = [node for node in remaining if node.op == "assemble" and _is_covered(node)]
        fits = partial(_fits_its_piece, graph)
        best = most_nodes(wrap(graph, remaining, node, before=fits, after=lambda _: True) for node in hearts)
        return best.group(graph, recipe=Assembly.name) if best else None

    def variants(self, group: Group, gpu: Gpu) -> tuple[Variant, ...]:
        del group, gpu
        return tuple(
            Variant(
                name=f"{'widest' if rank == 0 else 'narrower'} vectors, {threads} threads",
                settings={"rank": rank, "threads": threads},
            )
            for rank, threads in SHAPES
        )

    def emit(self, group: Group, variant: Variant) -> Part:
        wrapped = _wrapped(group)
        kernel = _Text(group, _places(wrapped), variant.number("rank"), variant.number("threads"))
        made = [text.allocation(value, group.inputs) for value in group.outputs]
        return Part(
            file=f"kernels/{group.name}.cu",
            source=kernel.source(),
            forward=(*made, text.call(group.name, group.inputs, group.outputs, ())),
            note=f"{', '.join(node.op for node in group.nodes)}: {len(wrapped.heart.inputs)} pieces "
            f"copied to their places in one launch ({variant.name}).",
        )


def _is_covered(node: Node) -> bool:
    dtypes = {view.dtype for view in node.views} | {node.output.dtype}
    return bool(node.views) and len(node.inputs) <= MAX_PIECES and dtypes <= set(COMPUTE_TYPES)


def _fits_its_piece(graph: Graph, node: Node) -> bool:
    """Whether all operands are views of the shape in which the users see the node."""
    shapes = {
        view.shape for user in graph.users(node.output) for view in user.views if view.value == node.output
    }
    return all(views.reshape(view, shape) is not None for shape in shapes for view in node.views)


def _wrapped(group: Group) -> Wrapped:
    assert isinstance(group.details, Wrapped)
    return group.details


# Reading the node


def _places(wrapped: Wrapped) -> tuple[Place, ...]:
    heart = wrapped.heart
    starts, sizes = (_boxes(heart.attributes[name]) for name in ("starts", "sizes"))
    return tuple(
        _place(wrapped, operand, start, size)
        for operand, start, size in zip(heart.inputs, starts, sizes, strict=True)
    )


def _boxes(entries: Operand) -> tuple[Shape, ...]:
    assert isinstance(entries, tuple)
    return tuple(
        tuple(n for n in entry if isinstance(n, int)) for entry in entries if isinstance(entry, tuple)
    )


def _place(wrapped: Wrapped, operand: Operand, start: Shape, size: Shape) -> Place:
    nodes = _cone(operand, wrapped.before)
    pieces = {view: view for view in wrapped.operands(nodes)}
    if isinstance(operand, View) and not nodes:
        pieces[operand] = operand
    seen = {view: _reshaped(view, size) for view in pieces}
    shape = wrapped.heart.output.shape
    seen |= {view: _cut(_reshaped(view, shape), start, size) for view in wrapped.operands(wrapped.after)}
    steps = contiguous_strides(shape)
    walked, (strides, *others) = views.collapse(size, steps, *(view.strides for view in seen.values()))
    offset = sum(first * step for first, step in zip(start, steps, strict=True))
    sources = tuple(
        Source(read=read, strides=found, offset=seen[read.view].offset)
        for read, found in zip(text.distinct_reads(tuple(seen)), others, strict=True)
    )
    place = Place(
        operand=operand, nodes=nodes, sizes=walked, strides=strides, offset=offset, sources=sources, widths=()
    )
    return replace(place, widths=_widths(place, wrapped.heart.output))


def _cone(operand: Operand, before: tuple[Node, ...]) -> tuple[Node, ...]:
    wanted = {operand.value} if isinstance(operand, View) else set()
    found: list[Node] = []
    for node in reversed(before):
        if node.output in wanted:
            found.append(node)
            wanted |= {view.value for view in node.views}
    return tuple(reversed(found))


def _reshaped(view: View, shape: Shape) -> View:
    found = views.reshape(view, shape)
    assert found is not None  # the match has looked
    return found


def _cut(view: View, start: Shape, size: Shape) -> View:
    for axis, (first, length) in enumerate(zip(start, size, strict=True)):
        view = views.cut(view, axis, first, length)
    return view


def _widths(place: Place, output: Value) -> tuple[int, ...]:
    items = [ITEM_BYTES[output.dtype]] + [ITEM_BYTES[source.read.view.dtype] for source in place.sources]
    walks = [(place.strides, place.offset)] + [(source.strides, source.offset) for source in place.sources]
    widest = 16 // max(items)
    return tuple(
        width
        for width in (8, 4, 2, 1)
        if width <= widest and all(_is_aligned(width, place.sizes, *walk) for walk in walks)
    ) or (1,)


def _is_aligned(width: int, sizes: Shape, strides: tuple[int, ...], offset: int) -> bool:
    if not sizes or sizes[-1] % width:
        return width == 1
    is_vector = strides[-1] == 1
    return not is_vector or not any(n % width for n in (offset, *strides[:-1]))


# The text


@dataclass(frozen=True, slots=True)
class _Text:
    """Writes one kernel with a function for each piece."""

    group: Group
    places: tuple[Place, ...]
    rank: int
    threads: int

    @property
    def wrapped(self) -> Wrapped:
        return _wrapped(self.group)

    @property
    def index(self) -> str:
        largest = max(place.numel for place in self.places)
        return "long long" if largest >= 2**31 - 2**20 else "int"

    def source(self) -> str:
        """The whole file."""
        formula = ", ".join(node.op for node in self.group.nodes)
        header = (
            f"{self.group.name}: {formula}.\n\nEach block fills a part of one piece's place.\n"
            f"{text.traffic(self.group.cost.traffic_bytes)}"
        )
        pieces = [
            text.comment(header),
            text.headers(self.group.inputs + self.group.outputs),
            "namespace {",
            f"constexpr int kThreads = {self.threads};",
            text.VECTOR.rstrip(),
            *(self._piece(number, place) for number, place in enumerate(self.places)),
            self._kernel(),
            "}  // namespace",
            self._launcher(),
        ]
        return "\n\n".join(pieces) + "\n"

    def _width(self, place: Place) -> int:
        return place.widths[min(self.rank, len(place.widths) - 1)]

    def _num_blocks(self, place: Place) -> int:
        return -(-place.numel // (self.threads * self._width(place)))

    @property
    def _formals(self) -> list[str]:
        return text.parameters(self.group.inputs, self.group.outputs)

    def _piece(self, number: int, place: Place) -> str:
        width = self._width(place)
        heart = self.wrapped.heart
        terms = {
            source.read.view: Term(text=f"{source.read.name}_j", ctype=source.read.ctype)
            for source in place.sources
        }
        element = [
            f"const {source.read.ctype} {source.read.name}_j = {_element(source)};"
            for source in place.sources
        ]
        element += [text.node_line(node, terms) for node in place.nodes]
        ctype = COMPUTE_TYPES[heart.output.dtype]
        element += [f"const {ctype} {text.c_name(heart.output)} = {_value(place, terms, ctype)};"]
        element += [text.node_line(node, terms) for node in self.wrapped.after]
        element += [f"{value.name}_at.at[j] = {text.stored(value)};" for value in self.group.outputs]
        lines = [
            f"constexpr int kWidth = {width};",
            f"const {self.index} index = (({self.index})block * kThreads + threadIdx.x) * kWidth;",
            f"if (index >= {place.numel}) {{",
            "    return;",
            "}",
            *(line for source in place.sources for line in _load(source, place.sizes)),
            *(
                f"Vector<{STORAGE_TYPES[value.dtype]}, kWidth> {value.name}_at;"
                for value in self.group.outputs
            ),
            "#pragma unroll",
            "for (int j = 0; j < kWidth; ++j) {",
            *("    " + line for line in element),
            "}",
            *(line for value in self.group.outputs for line in _store(value, place)),
        ]
        head = f"__device__ __forceinline__ void piece_{number}"
        return text.function(head, ["unsigned block", *self._formals], lines)

    def _kernel(self) -> str:
        pointers = ", ".join(text.pointer_names(self.group.inputs, self.group.outputs))
        lines: list[str] = []
        first = 0
        for number, place in enumerate(self.places):
            end = first + self._num_blocks(place)
            start = f"blockIdx.x - {first}" if first else "blockIdx.x"
            lines += [
                f"if (blockIdx.x < {end}) {{",
                f"    piece_{number}({start}, {pointers});",
                "    return;",
                "}",
            ]
            first = end
        head = f"__global__ void __launch_bounds__(kThreads) {self.group.name}_kernel"
        return text.function(head, self._formals, lines)

    def _launcher(self) -> str:
        inputs, outputs = self.group.inputs, self.group.outputs
        blocks = sum(self._num_blocks(place) for place in self.places)
        pointers = ", ".join(text.pointer_names(inputs, outputs))
        lines = [
            f"{self.group.name}_kernel<<<{blocks}, kThreads, 0, stream>>>({pointers});",
            "return (int)cudaGetLastError();",
        ]
        formals = [*text.launcher_parameters(inputs, outputs), "cudaStream_t stream"]
        return text.function(f'extern "C" int {self.group.name}', formals, lines)


def _index(sizes: Shape, strides: tuple[int, ...], offset: int) -> str:
    """Where the vector at `index` begins."""
    place = "index"
    if strides != contiguous_strides(sizes):
        place = text.index_text("index", sizes, strides, num_bits=64)
    if not offset:
        return place
    return str(offset) if place == "0" else f"{place} + {offset}"


def _load(source: Source, sizes: Shape) -> list[str]:
    read, place = source.read, _index(sizes, source.strides, source.offset)
    storage = STORAGE_TYPES[read.view.dtype]
    step = source.strides[-1] if source.strides else 0
    if step == 0:
        return [f"const {storage} {read.name} = {read.pointer}[{place}];"]
    if step == 1:
        return [f"const Vector<{storage}, kWidth> {read.name} = load<kWidth>({read.pointer} + {place});"]
    return [
        f"Vector<{storage}, kWidth> {read.name};",
        "#pragma unroll",
        "for (int j = 0; j < kWidth; ++j) {",
        f"    {read.name}.at[j] = {read.pointer}[{place} + j * {step}];",
        "}",
    ]


def _store(value: Value, place: Place) -> list[str]:
    start = f"{text.out_name(value)} + {_index(place.sizes, place.strides, place.offset)}"
    step = place.strides[-1] if place.strides else 1
    if step == 1:
        return [f"store({start}, {value.name}_at);"]
    return [
        "#pragma unroll",
        "for (int j = 0; j < kWidth; ++j) {",
        f"    *({start} + j * {step}) = {value.name}_at.at[j];",
        "}",
    ]


def _element(source: Source) -> str:
    read = source.read
    is_repeated = not source.strides or source.strides[-1] == 0
    loaded = read.name if is_repeated else f"{read.name}.at[j]"
    return cast(Term(text=loaded, ctype=STORAGE_TYPES[read.view.dtype]), read.ctype)


def _value(place: Place, terms: dict[View, Term], ctype: str) -> str:
    """The piece's element, as what the output is computed in."""
    operand = place.operand
    if not isinstance(operand, View):
        assert isinstance(operand, bool | int | float)
        return literal(operand, ctype)
    return cast(terms.get(operand) or text.value_term(operand.value), ctype)
