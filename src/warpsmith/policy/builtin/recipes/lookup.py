"""Rows looked up by an index tensor, copied to their places in one pass."""

import math
from dataclasses import dataclass

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import ITEM_BYTES, Graph, Node, View
from warpsmith.policy.builtin.operators import STORAGE_TYPES
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.base import Cost, Group, Part, Variant

THREADS = (256, 128, 512)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """output[outer.., i, inner..] = source[outer.., index[i], inner..], axes of a kind seen as one."""

    source: View
    index: View
    axis: int

    @property
    def outer(self) -> int:
        return math.prod(self.source.shape[: self.axis])

    @property
    def inner(self) -> int:
        return math.prod(self.source.shape[self.axis + 1 :])

    @property
    def width(self) -> int:
        """Elements that a thread moves at once: 16 bytes at most."""
        sizes, (strides,) = self._inner_walk
        if sizes and (strides[-1] != 1):
            return 1
        steps = (*self.source.strides[: self.axis + 1], *strides[:-1], self.source.offset)
        widths = (width for width in (16, 8, 4, 2, 1) if width * ITEM_BYTES[self.source.dtype] <= 16)
        return next(
            width
            for width in widths
            if (sizes[-1] if sizes else 1) % width == 0 and not any(step % width for step in steps)
        )

    @property
    def place_text(self) -> str:
        """Where element (outer, row, inner) of the source lies."""
        before, (steps,) = views.collapse(self.source.shape[: self.axis], self.source.strides[: self.axis])
        sizes, (strides,) = self._inner_walk
        row = self.source.strides[self.axis]
        terms = [
            text.index_text("outer", before, steps, num_bits=64),
            f"row * {row}LL" if row else "0",
            text.index_text("inner", sizes, strides, num_bits=64),
            str(self.source.offset),
        ]
        return " + ".join(term for term in terms if term != "0") or "0"

    @property
    def _inner_walk(self) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
        return views.collapse(self.source.shape[self.axis + 1 :], self.source.strides[self.axis + 1 :])


class Lookup:
    """Embedding, index_select, and indexing along one axis."""

    name = "lookup"

    def match(self, graph: Graph, remaining: tuple[Node, ...]) -> Group | None:
        del graph
        node = next((node for node in remaining if node.op == "lookup" and node.output.numel), None)
        return None if node is None else _group(node)

    def variants(self, group: Group, gpu: Gpu) -> tuple[Variant, ...]:
        del group, gpu
        return tuple(Variant(name=f"{n} threads a block", settings={"threads": n}) for n in THREADS)

    def emit(self, group: Group, variant: Variant) -> Part:
        reading, out = _reading(group), group.outputs[0]
        device = f"{reading.source.value.expression}.device"
        shape = f"({out.shape[0]},)" if len(out.shape) == 1 else str(out.shape)
        return Part(
            file=f"kernels/{group.name}.cu",
            source=_source(group, reading, variant),
            forward=(
                f"{out.name} = torch.empty({shape}, dtype=torch.{out.dtype}, device={device})",
                text.call(group.name, group.inputs, group.outputs, ()),
            ),
            note=f"{reading.index.numel} rows of {reading.inner} elements, looked up ({variant.name}).",
        )


def _reading(group: Group) -> Reading:
    assert isinstance(group.details, Reading)
    return group.details


def _group(node: Node) -> Group:
    source, index = node.views
    axis = node.inputs[1]
    assert isinstance(axis, int)
    inputs = tuple(dict.fromkeys((source.value, index.value)))
    # Of the source no more is read than is written.
    read = min(source.value.num_bytes, node.output.num_bytes)
    return Group(
        recipe=Lookup.name,
        name="lookup",
        nodes=(node,),
        inputs=inputs,
        outputs=node.outputs,
        cost=Cost(traffic_bytes=read + index.value.num_bytes + node.output.num_bytes, launches=1),
        details=Reading(source=source, index=index, axis=axis),
    )


def _source(group: Group, reading: Reading, variant: Variant) -> str:
    out = group.outputs[0]
    width, storage = reading.width, STORAGE_TYPES[out.dtype]
    index = f"{text.c_name(reading.index.value)}[at / kInner % kRows]"
    kernel = [
        "const long long at = ((long long)blockIdx.x * kThreads + threadIdx.x) * kWidth;",
        "if (at >= kSize) {",
        "    return;",
        "}",
        "const long long inner = at % kInner, outer = at / (kInner * kRows);",
        f"const long long wanted = {index};",
        f"const long long row = wanted < 0 ? wanted + {reading.source.shape[reading.axis]} : wanted;",
        f"store({text.out_name(out)} + at, load<kWidth>({text.c_name(reading.source.value)} + "
        f"{reading.place_text}));",
    ]
    unused = [] if "outer" in reading.place_text else ["(void)outer;"]
    unused += [] if "inner" in reading.place_text else ["(void)inner;"]
    names = ", ".join(text.pointer_names(group.inputs, group.outputs))
    launcher = [
        "const unsigned blocks = (unsigned)((kSize / kWidth + kThreads - 1) / kThreads);",
        f"{group.name}_kernel<<<blocks, kThreads, 0, stream>>>({names});",
        "return (int)cudaGetLastError();",
    ]
    constants = [
        f"constexpr long long kSize = {out.numel}LL;",
        f"constexpr long long kRows = {reading.index.numel}LL;  // looked up",
        f"constexpr long long kInner = {reading.inner}LL;  // elements of a row",
        f"constexpr int kWidth = {width};  // elements of {storage} that a thread copies",
        f"constexpr int kThreads = {variant.number('threads')};",
    ]
    head = f"__global__ void __launch_bounds__(kThreads) {group.name}_kernel"
    pieces = [
        text.comment(f"{group.name}: rows looked up by {reading.index.value.name}."),
        text.headers(group.inputs + group.outputs),
        "namespace {",
        "\n".join(constants),
        text.VECTOR.rstrip(),
        text.function(
            head, text.parameters(group.inputs, group.outputs), [*kernel[:5], *unused, *kernel[5:]]
        ),
        "}  // namespace",
        text.function(
            f'extern "C" int {group.name}',
            [*text.launcher_parameters(group.inputs, group.outputs), "cudaStream_t stream"],
            launcher,
        ),
    ]
    return "\n\n".join(pieces) + "\n"
