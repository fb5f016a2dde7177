"""The ways to compute one convolution, in which tiles, and what each is predicted to take."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from warpsmith.device.base import Gpu
from warpsmith.policy.builtin.recipes.conv_geometry import Convolution

DEPTH = 16  # kDepth of conv_tile.cuh
DIRECT_THREADS = 256  # of a block that does not tile
MULTIPROCESSORS = 132  # of an H100 or H200; a grid that leaves some idle is predicted slower


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """Channels of the result and output positions that a block computes, and the part of a thread or warp."""

    rows: int
    cols: int
    part_rows: int
    part_cols: int

    @property
    def name(self) -> str:
        return f"{self.rows} x {self.cols} in parts of {self.part_rows} x {self.part_cols}"

    @property
    def template_arguments(self) -> str:
        return f"{self.rows}, {self.cols}, {self.part_rows}, {self.part_cols}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One way of multiplying tiles: the struct of the CUDA headers that does it, and a predicted rate."""

    name: str
    summary: str  # for the README
    struct: str  # with {tile} for the template arguments of its tile
    rate: Callable[[Gpu], float]  # FLOP/s that a full grid is expected to reach
    header: str  # that defines the struct
    threads_per_part: int  # one thread, or the warp that shares a part
    tiles: tuple[Tile, ...]
    min_depth: int = 0  # with fewer products a sum, fp32's own error is so small that this one's stands out
    is_reduced: bool = False  # rounds its operands; only for tasks that accept that

    def time_us(self, conv: Convolution, tile: Tile, gpu: Gpu) -> float:
        """A prediction: padded arithmetic in whole waves of blocks, or the traffic if that takes longer."""
        row_tiles = math.ceil(conv.filters / tile.rows)
        blocks, work = 0, 0
        for phase, slabs in zip(conv.phases, slabs_of(conv), strict=True):
            col_tiles = math.ceil(conv.batch * phase.num_outputs / tile.cols)
            blocks += col_tiles * row_tiles * conv.groups
            work += 2 * col_tiles * row_tiles * conv.groups * tile.rows * tile.cols * slabs * DEPTH
        # A small tile reads more of both operands for each product.
        crowding = 1.0 + 16.0 / tile.rows + 16.0 / tile.cols
        arithmetic_s = work * _idle(blocks) * crowding / self.rate(gpu)
        return 1e6 * max(arithmetic_s, traffic_bytes(conv) / gpu.dram_bytes_s) + gpu.launch_us

    def threads(self, tile: Tile) -> int:
        """Of a block."""
        return self.threads_per_part * (tile.rows // tile.part_rows) * (tile.cols // tile.part_cols)


def slabs_of(conv: Convolution) -> tuple[int, ...]:
    """How many slabs of DEPTH along k each phase has."""
    return tuple(math.ceil(len(phase.taps) * conv.channels / DEPTH) for phase in conv.phases)


def direct_time_us(conv: Convolution, tile: int, gpu: Gpu, *, is_rows: bool) -> float:
    """A prediction for a thread that sums `tile` results alone: it loads an input and their factors."""
    share = 0.3 if is_rows else 0.25 * tile / (tile + 3)
    blocks = conv.batch * conv.groups * conv.filters * conv.out_plane / (tile * DIRECT_THREADS)
    arithmetic_s = conv.flops * _idle(blocks) / (share * gpu.fp32_flops)
    return 1e6 * max(arithmetic_s, traffic_bytes(conv) / gpu.dram_bytes_s) + gpu.launch_us


def _idle(blocks: float) -> float:
    """How much longer whole waves of blocks take than their share of the multiprocessors."""
    waves = blocks / MULTIPROCESSORS
    return math.ceil(waves) / waves


def traffic_bytes(conv: Convolution) -> int:
    """Every operand read once and the result written once."""
    values = (conv.x, conv.weight, conv.bias, conv.out)
    return sum(value.num_bytes for value in values if value is not None)


def _tile(rows: int, cols: int, part_rows: int, part_cols: int) -> Tile:
    return Tile(rows=rows, cols=cols, part_rows=part_rows, part_cols=part_cols)


UNIT_TILES = (
    _tile(128, 128, 8, 8),
    _tile(64, 256, 8, 8),
    _tile(64, 128, 8, 8),
    _tile(64, 64, 4, 8),
    _tile(32, 64, 4, 4),
    _tile(32, 32, 2, 4),
    _tile(32, 128, 8, 4),
    _tile(16, 128, 4, 4),
    _tile(8, 128, 2, 4),
)
WARP_TILES = (
    _tile(128, 128, 64, 32),
    _tile(64, 256, 64, 32),
    _tile(64, 128, 32, 32),
    _tile(64, 64, 32, 32),
    _tile(32, 64, 16, 32),
    _tile(32, 32, 16, 16),
    _tile(32, 128, 32, 32),
    _tile(16, 128, 16, 32),
)

# A part this large reads least from shared memory; its sums alone take half of a thread's registers.
BF16_TILES = (_tile(128, 128, 64, 64), *WARP_TILES)

# Rates are shares of the peak that kernels of this kind are known to reach; none was measured here.
METHODS = (
    Method(
        name="fp32",
        summary="in fp32 on the ordinary units",
        struct="Units<{tile}>",
        rate=lambda gpu: 0.6 * gpu.fp32_flops,
        header="conv_tile.cuh",
        threads_per_part=1,
        tiles=UNIT_TILES,
    ),
    Method(
        name="tf32x3",
        summary="on the tensor cores as three products of two TF32 parts each, summed in fp32 (an infinity "
        "gives NaN)",
        struct="Tf32<Warps<{tile}>, 2>",
        rate=lambda gpu: 0.4 * gpu.tf32_flops / 3,
        header="conv_mma.cuh",
        threads_per_part=32,
        tiles=WARP_TILES,
    ),
    Method(
        name="bf16x3",
        summary="on the tensor cores as three products of two bf16 parts each, summed in fp32 (an infinity "
        "gives NaN)",
        struct="Bf16<Warps<{tile}>>",
        rate=lambda gpu: 0.4 * gpu.bf16_flops / 3,
        header="conv_mma.cuh",
        threads_per_part=32,
        tiles=BF16_TILES,
        # Simulated beside fp32 sums of one term after the other: 11 times their error at depth 288 and 576,
        # 23 times at 144.
        min_depth=256,
    ),
    Method(
        name="tf32",
        summary="in TF32 on the tensor cores",
        struct="Tf32<Warps<{tile}>, 1>",
        rate=lambda gpu: 0.4 * gpu.tf32_flops,
        header="conv_mma.cuh",
        threads_per_part=32,
        tiles=WARP_TILES,
        is_reduced=True,
    ),
)


def method(name: str) -> Method:
    """The method called `name`."""
    return next(method for method in METHODS if method.name == name)
