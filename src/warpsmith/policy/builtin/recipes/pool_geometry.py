"""The windows of a pooling, read out of its node, and how a block of threads covers them."""

import math
from dataclasses import dataclass

from warpsmith.policy.builtin.graph import Node, Shape

POOLINGS = ("max_pool", "avg_pool")
MAX_THREADS = 256
MAX_SHARED_BYTES = 48 * 1024
MAX_ROWS = 32  # rows of a plane that a thread goes through in straight code


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Windows along one axis of the input."""

    size: int
    out: int
    kernel: int
    stride: int
    padding: int
    dilation: int

    @property
    def span(self) -> int:
        """From the first element of a window to its last."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def ends_inside(self) -> bool:
        """No window reaches beyond the padding."""
        return (self.out - 1) * self.stride + self.span <= self.size + 2 * self.padding


@dataclass(frozen=True, slots=True, kw_only=True)
class Pooling:
    """Windows over planes of three axes: depth, height and width; what a task lacks has size 1."""

    is_max: bool
    lead: Shape  # the axes before
    axes: tuple[Axis, Axis, Axis]
    divisor: int | None
    counts_padding: bool

    @property
    def num_planes(self) -> int:
        return math.prod(self.lead)

    @property
    def fixed_divisor(self) -> int | None:
        """What every sum is divided by, if it is the same everywhere."""
        if self.divisor is not None:
            return self.divisor
        is_padded = any(axis.padding for axis in self.axes)
        if all(axis.ends_inside for axis in self.axes) and (self.counts_padding or not is_padded):
            return math.prod(axis.kernel for axis in self.axes)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiling:
    """`lanes` threads go along the width, each with `vectors` vectors of `width` columns, `lanes` apart.

    They make `tall` rows of the output together, `outs` columns of each; `strips` such groups are a block.
    """

    lanes: int
    width: int
    vectors: int
    tall: int
    strips: int
    outs: int
    shift: int  # columns before the first window, so that vectors are aligned

    @property
    def cols(self) -> int:
        """Input columns of a tile."""
        return self.lanes * self.width * self.vectors

    @property
    def threads(self) -> int:
        return self.lanes * self.strips

    def __str__(self) -> str:
        return (
            f"{self.lanes} threads along the width, {self.vectors} x {self.width} columns each, "
            f"{self.tall} rows at a time, {self.strips} strips a block"
        )


def read_pooling(node: Node) -> Pooling | None:
    """The pooling that `node` is, if it is one."""
    if node.op not in POOLINGS or 0 in node.output.shape:
        return None
    kernel, stride, padding, dilation = (
        tuple(n for n in entry if isinstance(n, int)) if isinstance(entry, tuple) else ()
        for entry in (node.attributes[name] for name in ("kernel", "stride", "padding", "dilation"))
    )
    sizes, outs = node.views[0].shape[-len(kernel) :], node.output.shape[-len(kernel) :]
    absent = Axis(size=1, out=1, kernel=1, stride=1, padding=0, dilation=1)
    axes = [
        Axis(size=size, out=out, kernel=k, stride=s, padding=p, dilation=d)
        for size, out, k, s, p, d in zip(sizes, outs, kernel, stride, padding, dilation, strict=True)
    ]
    depth, height, width = [absent] * (3 - len(axes)) + axes
    divisor = node.attributes["divisor"]
    return Pooling(
        is_max=node.op == "max_pool",
        lead=node.output.shape[: -len(kernel)],
        axes=(depth, height, width),
        divisor=divisor if isinstance(divisor, int) else None,
        counts_padding=bool(node.attributes["counts_padding"]),
    )


def row_step(pooling: Pooling, tall: int) -> int:
    """Rows of the input that `tall` rows of the output need are multiples of this apart."""
    axis = pooling.axes[1]
    if tall == 1:
        return axis.dilation
    return math.gcd(axis.dilation, axis.stride) if axis.kernel > 1 else axis.stride


def num_rows(pooling: Pooling, tall: int) -> int:
    """How many steps it is from the first row to the last."""
    axis = pooling.axes[1]
    return ((tall - 1) * axis.stride + axis.span - 1) // row_step(pooling, tall) + 1


def tilings(pooling: Pooling, width: int, item_bytes: int) -> tuple[Tiling, ...]:
    """Ways to cover the output, best guess first; none if a window is too wide for a block."""
    tall = _best_tall(pooling)
    vectors = max(1, 4 // num_rows(pooling, tall))
    shapes = [(tall, vectors), (tall, 1), (max(1, tall // 2), vectors), (2 * tall, 1), (1, 2), (tall, 4)]
    found = [
        tiling
        for tall, vectors in dict.fromkeys(shapes)
        if tall == 1 or (tall < 2 * pooling.axes[1].out and num_rows(pooling, tall) <= MAX_ROWS)
        if (tiling := _tiling(pooling, width, vectors, tall, item_bytes)) is not None
    ]
    return tuple(dict.fromkeys(found))


def _best_tall(pooling: Pooling) -> int:
    """Rows of the output that share rows of the input; without sharing, what keeps some loads under way."""
    axis = pooling.axes[1]
    if axis.out == 1:
        return 1
    wanted = 4 if axis.span > axis.stride else max(1, 4 // axis.kernel)
    while wanted > 1 and (wanted >= 2 * axis.out or num_rows(pooling, wanted) > MAX_ROWS):
        wanted //= 2
    return wanted


def _tiling(pooling: Pooling, width: int, vectors: int, tall: int, item_bytes: int) -> Tiling | None:
    axis = pooling.axes[2]
    shift = -axis.padding % width
    group = width // math.gcd(width, axis.stride)  # outputs from one aligned column to the next

    def cols_for(outs: int) -> int:
        return (outs - 1) * axis.stride + axis.span + shift

    step = width * vectors
    most = _fitting_outs(MAX_THREADS * step, axis, shift)
    if most < 1:
        return None
    outs = axis.out
    if outs > most:
        num_tiles = -(-outs // most)
        even = -(-outs // num_tiles)
        outs = -(-even // group) * group
        outs = outs if outs <= most else most // group * group
    if outs < 1:
        return None
    lanes = -(-cols_for(outs) // step)
    strips = _best_strips(lanes, lanes * step * tall * item_bytes)
    if not strips:
        return None
    return Tiling(lanes=lanes, width=width, vectors=vectors, tall=tall, strips=strips, outs=outs, shift=shift)


def _fitting_outs(cols: int, axis: Axis, shift: int) -> int:
    """Windows that fit into so many columns."""
    return (cols - shift - axis.span) // axis.stride + 1


def _best_strips(lanes: int, strip_bytes: int) -> int:
    """Groups a block, so that few threads of its warps are idle; 0 if not even one fits."""
    most = min(MAX_THREADS // lanes, MAX_SHARED_BYTES // strip_bytes)
    return max(range(1, most + 1), key=lambda n: (n * lanes / (-(-n * lanes // 32) * 32), n), default=0)
