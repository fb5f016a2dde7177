"""Layers of recurrent nets: a kernel a step, which finds the recurrent products and applies the gates.

The launches stand in one C++ loop. Products with the inputs of all steps have been made before, as one.
"""

import math
from dataclasses import dataclass

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import Graph, Node, Operand, Value, View
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.base import Cost, Group, Part, Variant
from warpsmith.policy.builtin.recipes.gemm_parts import template_text

DTYPES = ("float32",)
WARPS = 4  # of a block, a unit each
TILES = (4, 2, 8, 1)  # sequences that a warp takes, best guess first

CELLS = {"lstm": "Lstm", "gru": "Gru", "rnn_tanh": "RnnTanh", "rnn_relu": "RnnRelu"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A recurrence read: views that lie in order, a direction each, and the states before the first step."""

    node: Node
    products: tuple[View, ...]
    weights: tuple[View, ...]
    biases: tuple[View | None, ...]
    states: tuple[View | None, ...]

    @property
    def cell(self) -> str:
        return str(self.node.attributes["cell"])

    @property
    def is_batch_first(self) -> bool:
        return bool(self.node.attributes["is_batch_first"])

    @property
    def units(self) -> int:
        return self.weights[0].shape[1]

    @property
    def steps(self) -> int:
        return self.products[0].shape[1 if self.is_batch_first else 0]

    @property
    def batch(self) -> int:
        return self.products[0].shape[0 if self.is_batch_first else 1]

    @property
    def directions(self) -> int:
        return len(self.products)

    @property
    def inputs(self) -> tuple[Value, ...]:
        """What is read, each value once."""
        return tuple(dict.fromkeys(view.value for view in self.node.views))

    @property
    def flops(self) -> int:
        """Of the recurrent products."""
        return 2 * self.steps * self.batch * sum(math.prod(view.shape) for view in self.weights)


class Recurrent:
    """LSTM, GRU and plain recurrent layers of fp32, in one or both directions."""

    name = "recurrent"

    def match(self, graph: Graph, remaining: tuple[Node, ...]) -> Group | None:
        del graph
        layers = (_read_layer(node) for node in remaining if node.op == "recurrence")
        layer = next((layer for layer in layers if layer is not None), None)
        return None if layer is None else _group(layer)

    def variants(self, group: Group, gpu: Gpu) -> tuple[Variant, ...]:
        del gpu
        layer = _layer(group)
        width = next(width for width in (4, 2, 1) if layer.units % width == 0)
        tiles = [tile for tile in TILES if tile == 1 or tile < 2 * layer.batch]
        return tuple(
            Variant(name=f"{tile} sequences a warp", settings={"tile": tile, "width": width})
            for tile in tiles
        )

    def emit(self, group: Group, variant: Variant) -> Part:
        layer = _layer(group)
        outputs = layer.node.outputs
        made = [text.allocation(value, group.inputs) for value in outputs]
        call = text.call(group.name, group.inputs, outputs, ())
        ways = "in both directions at once" if layer.directions == 2 else "in one direction"
        return Part(
            file=f"kernels/{group.name}.cu",
            source=_source(group, layer, variant),
            forward=(*made, call),
            note=f"{layer.steps} steps of {layer.cell} {ways}, {layer.batch} sequences and {layer.units} "
            f"units, a launch a step ({variant.name}).",
            headers=(("kernels/recurrence.cuh", template_text("recurrence.cuh")),),
        )


def _layer(group: Group) -> Layer:
    assert isinstance(group.details, Layer)
    return group.details


def _group(layer: Layer) -> Group:
    values = (*layer.inputs, *layer.node.outputs)
    return Group(
        recipe=Recurrent.name,
        name=f"{layer.cell}_steps",
        nodes=(layer.node,),
        inputs=layer.inputs,
        outputs=layer.node.outputs,
        cost=Cost(
            traffic_bytes=sum(value.num_bytes for value in values), launches=layer.steps, flops=layer.flops
        ),
        details=layer,
    )


def _read_layer(node: Node) -> Layer | None:
    """None for a dtype without a kernel, or if there is nothing to compute."""
    layer = Layer(
        node=node,
        products=_views(node.inputs[0]),
        weights=_views(node.inputs[1]),
        biases=_maybe_views(node.inputs[2]),
        states=_maybe_views(node.inputs[3]),
    )
    is_known = node.outputs[0].dtype in DTYPES and all(views.is_contiguous(view) for view in node.views)
    return layer if is_known and node.outputs[0].numel else None


def _views(operand: Operand) -> tuple[View, ...]:
    assert isinstance(operand, tuple)
    return tuple(item for item in operand if isinstance(item, View))


def _maybe_views(operand: Operand) -> tuple[View | None, ...]:
    assert isinstance(operand, tuple)
    return tuple(item if isinstance(item, View) else None for item in operand)


def _source(group: Group, layer: Layer, variant: Variant) -> str:
    pieces = [
        text.comment(
            f"{group.name}: {layer.steps} steps of {layer.cell}, each a launch of recurrence.cuh's kernel."
        ),
        '#include <cuda_runtime.h>\n#include "recurrence.cuh"',
        "namespace {",
        _sizes(layer, variant),
        "}  // namespace",
        _launcher(group, layer),
    ]
    return "\n\n".join(pieces) + "\n"


def _sizes(layer: Layer, variant: Variant) -> str:
    step, sequence = (1, layer.steps) if layer.is_batch_first else (layer.batch, 1)
    numbers = {
        "Steps": (layer.steps, ""),
        "Batch": (layer.batch, "sequences"),
        "Units": (layer.units, "of a direction"),
        "Directions": (layer.directions, ""),
        "StepStride": (step, "rows from step to step"),
        "SequenceStride": (sequence, "rows from sequence to sequence"),
        "Tile": (variant.number("tile"), "sequences that a warp takes"),
        "Warps": (WARPS, "of a block, a unit each"),
        "Width": (variant.number("width"), "elements of a vector"),
    }
    lines = [
        f"    static constexpr int k{name} = {number};{'  // ' + what if what else ''}"
        for name, (number, what) in numbers.items()
    ]
    return "\n".join(["struct Sizes {", *lines, "};"])


def _launcher(group: Group, layer: Layer) -> str:
    directions = ", ".join(
        f"{{{', '.join(map(_pointer, parts))}}}"
        for parts in zip(layer.products, layer.weights, layer.biases, strict=True)
    )
    state, cell = (*map(_pointer, layer.states), "nullptr")[:2]
    out, last_state, last_cell = (*map(text.out_name, layer.node.outputs), "nullptr")[:3]
    formals = [*text.launcher_parameters(group.inputs, layer.node.outputs), "cudaStream_t stream"]
    lines = [
        "const recurrence::Layer<Sizes::kDirections> layer = {",
        f"    {{{directions}}},",
        f"    {state}, {cell}, {out}, {last_state}, {last_cell},",
        "};",
        f"return recurrence::run<recurrence::{CELLS[layer.cell]}, Sizes>(layer, stream);",
    ]
    return text.function(f'extern "C" int {group.name}', formals, lines)


def _pointer(view: View | None) -> str:
    if view is None:
        return "nullptr"
    return f"{text.c_name(view.value)} + {view.offset}" if view.offset else text.c_name(view.value)
