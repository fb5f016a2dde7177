"""Reading a convolution out of a graph, where its sizes fit the kernels."""

from dataclasses import dataclass, replace

from warpsmith.policy.builtin.graph import Node, Shape, Value, View
from warpsmith.policy.builtin.recipes.conv_geometry import Axis, Convolution

RANK = 3  # axes of a kernel; missing ones have size 1
DTYPES = ("float32", "float16", "bfloat16")
MAX_INDEX = 2**31 - 2**20
MAX_TAPS = 4096  # 12 bytes each, of the 64 KiB of constant memory
MAX_PHASES = 256  # 60 bytes each
MAX_DELTA = 2**15 - 1
MAX_GRID_LINES = 65535  # of blocks


def read_convolution(node: Node) -> Convolution | None:
    """The convolution that `node` is, if its sizes fit the kernels' indices; None otherwise."""
    match node.op, node.inputs:
        case (
            "convolution",
            (
                View() as x,
                View() as weight,
                bias,
                tuple() as stride,
                tuple() as padding,
                tuple() as dilation,
                bool() as is_transposed,
                _,
                int() as groups,
            ),
        ):
            rank = len(x.shape) - 2
            steps = _Steps(
                stride=_per_axis(stride, rank),
                padding=_per_axis(padding, rank),
                dilation=_per_axis(dilation, rank),
                is_transposed=is_transposed,
                groups=groups,
            )
            found = _convolution(node.output, x, weight, steps)
            found = found and _with_bias(found, bias)
            return found if found is not None and _fits(found) else None
        case _:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Steps:
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    is_transposed: bool
    groups: int


def _per_axis(numbers: tuple[object, ...], rank: int) -> tuple[int, ...]:
    """One number for each axis; a single one stands for all."""
    found = tuple(number for number in numbers if isinstance(number, int))
    return found * rank if len(found) == 1 else found


def _convolution(out: Value, x: View, weight: View, steps: _Steps) -> Convolution | None:
    rank = len(x.shape) - 2
    is_known = x.dtype == weight.dtype == out.dtype and out.dtype in DTYPES
    is_whole = x.is_in_order and weight.is_in_order and len(weight.shape) == len(out.shape) == rank + 2
    if not (is_known and is_whole and 1 <= rank <= RANK and out.numel and x.numel and weight.numel):
        return None
    axes = _axes(x.shape[2:], out.shape[2:], weight.shape[2:], steps)
    return Convolution(
        x=x.value,
        weight=weight.value,
        bias=None,
        out=out,
        groups=steps.groups,
        channels=x.shape[1] // steps.groups,
        filters=out.shape[1] // steps.groups,
        axes=axes,
        is_transposed=steps.is_transposed,
    )


def _axes(sizes: Shape, outs: Shape, kernels: Shape, steps: _Steps) -> tuple[Axis, Axis, Axis]:
    rows = zip(sizes, outs, kernels, steps.stride, steps.padding, steps.dilation, strict=True)
    made = [
        Axis(
            size=size,
            out=out,
            kernel=kernel,
            stride=stride,
            padding=padding,
            dilation=dilation,
            is_transposed=steps.is_transposed,
        )
        for size, out, kernel, stride, padding, dilation in rows
    ]
    first, second, third = [Axis()] * (RANK - len(made)) + made
    return first, second, third


def _with_bias(found: Convolution, bias: object) -> Convolution | None:
    if bias is None:
        return found
    if not isinstance(bias, View) or not bias.is_in_order or bias.dtype != found.out.dtype:
        return None
    return replace(found, bias=bias.value)


def _fits(found: Convolution) -> bool:
    """Whether every index within one image, and every output position, is an int."""
    image = found.groups * found.channels * found.plane
    positions = found.batch * found.out_plane
    if max(image, positions, found.weight.numel) > MAX_INDEX:
        return False
    if found.groups * found.filters > MAX_GRID_LINES:
        return False
    if found.num_taps > MAX_TAPS or len(found.phases) > MAX_PHASES:
        return False
    deltas = (delta for phase in found.phases for tap in phase.taps for delta in tap.deltas)
    return all(abs(delta) <= MAX_DELTA for delta in deltas)
