"""Convolutions of every kind in kernels of our own, with the pointwise operators that follow in one pass.

Dense ones are matrix products whose second operand is gathered on the way (`conv_tiled`): in fp32, or as a
few tensor-core products of parts. Where few channels meet, a thread sums alone (`conv_direct`).
"""

from collections.abc import Iterator
from dataclasses import replace

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import Graph, Node
from warpsmith.policy.builtin.recipes.base import Group, Part, Variant
from warpsmith.policy.builtin.recipes.conv_direct import Direct
from warpsmith.policy.builtin.recipes.conv_geometry import Convolution
from warpsmith.policy.builtin.recipes.conv_methods import (
    METHODS,
    Method,
    Tile,
    direct_time_us,
    method,
)
from warpsmith.policy.builtin.recipes.conv_reading import read_convolution
from warpsmith.policy.builtin.recipes.conv_tiled import Tiled
from warpsmith.policy.builtin.recipes.fusion import Linking, fused_group, grow, is_pointwise

MAX_ROW_TAPS = 49  # that a thread keeps in registers
MIN_TILED_FILTERS = 4  # with fewer, most of a tile would be padding
ROWS, CHANNELS = "rows", "channels"  # what a thread computes several of
DIRECT = (ROWS, CHANNELS)
TILE = ("rows", "cols", "part_rows", "part_cols")
TILES_TRIED = 3  # of each method


class Conv:
    """convolution, transposed or not, over one to three axes, of fp32, fp16 or bf16."""

    name = "conv"

    def match(self, graph: Graph, remaining: tuple[Node, ...]) -> Group | None:
        """The first convolution among `remaining`, with the pointwise nodes around its result."""
        for node in remaining:
            conv = read_convolution(node)
            if conv is not None:
                return _group(graph, grow(graph, remaining, node, _linking(node)), conv)
        return None

    def variants(self, group: Group, gpu: Gpu) -> tuple[Variant, ...]:
        """First the ordinary unit's fastest, then the tensor cores', then the other safe ones.

        Among those, by predicted time; but methods too coarse for so short a sum come last. At the end stand
        methods that round their operands.
        """
        conv = _conv(group)
        safe = sorted([*_direct_variants(conv, gpu), *_tiled(conv, gpu, method("fp32"))], key=_predicted)
        parts = [way for way in METHODS if way.name != "fp32" and not way.is_reduced]
        on_cores = sorted(
            (variant for way in parts for variant in _tiled(conv, gpu, way)),
            key=lambda variant: (_is_coarse(conv, variant), _predicted(variant)),
        )
        reduced = [variant for way in METHODS if way.is_reduced for variant in _tiled(conv, gpu, way)]
        return (*safe[:1], *on_cores, *safe[1:], *reduced)

    def emit(self, group: Group, variant: Variant) -> Part:
        """The group's kernels and launchers, on top of headers that all convolutions share."""
        conv, chosen = _conv(group), str(variant.settings["method"])
        if chosen in DIRECT:
            return Direct(group=group, conv=conv, tile=variant.number("each"), is_rows=chosen == "rows").part
        way = method(chosen)
        tile = Tile(**{name: variant.number(name) for name in TILE})
        return Tiled(group=group, conv=conv, method=way, tile=tile).part


def _conv(group: Group) -> Convolution:
    assert isinstance(group.details, Convolution)
    return group.details


def _linking(seed: Node) -> Linking:
    shape, numel = seed.output.shape, seed.output.numel

    def accepts(node: Node) -> bool:
        if node is seed:
            return True
        if not is_pointwise(node) or node.output.numel != numel:
            return False
        return all(views.reshape(view, shape) is not None for view in node.views)

    return Linking(
        accepts=accepts,
        fuses=lambda view, node: node is not seed and view.is_in_order,
        shares=lambda _view: False,
    )


def _group(graph: Graph, nodes: tuple[Node, ...], conv: Convolution) -> Group:
    following = dict.fromkeys(node.op for node in nodes if node.output != conv.out)
    name = "_".join(["convolution", *list(following)[-3:]])
    group = fused_group(graph, nodes, recipe=Conv.name, name=name, launches=1, details=conv)
    return replace(group, cost=replace(group.cost, flops=conv.flops))


def _predicted(variant: Variant) -> float:
    return float(variant.settings["predicted_us"])


def _is_coarse(conv: Convolution, variant: Variant) -> bool:
    return conv.depth < method(str(variant.settings["method"])).min_depth


def _tiled(conv: Convolution, gpu: Gpu, way: Method) -> Iterator[Variant]:
    """The best tiles of one method."""
    if conv.filters < MIN_TILED_FILTERS:
        return
    tiles = sorted(way.tiles, key=lambda tile: way.time_us(conv, tile, gpu))
    for tile in tiles[:TILES_TRIED]:
        yield Variant(
            name=f"{way.name}, {tile.name}",
            settings={
                "method": way.name,
                **{name: getattr(tile, name) for name in TILE},
                "predicted_us": way.time_us(conv, tile, gpu),
                "is_reduced": way.is_reduced,
            },
        )


def _direct_variants(conv: Convolution, gpu: Gpu) -> Iterator[Variant]:
    for is_rows, tile in _direct_tiles(conv):
        kind = ROWS if is_rows else CHANNELS
        predicted_us = direct_time_us(conv, tile, gpu, is_rows=is_rows)
        yield Variant(
            name=f"{tile} {kind} a thread",
            settings={"method": kind, "each": tile, "predicted_us": predicted_us, "is_reduced": False},
        )


def _direct_tiles(conv: Convolution) -> list[tuple[bool, int]]:
    """(whether rows, how many a thread)."""
    widest = min(conv.filters, 16)
    channels = [(False, tile) for tile in (16, 8, 4, 1) if tile <= widest][:2]
    _, height, width = (axis.kernel for axis in conv.axes)
    suits = not conv.is_transposed and height * width <= MAX_ROW_TAPS and conv.channels <= 4
    rows = [(True, tile) for tile in (8, 4, 2) if suits and conv.axes[1].out >= tile]
    return channels + rows
