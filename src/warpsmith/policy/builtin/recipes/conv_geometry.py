"""A convolution as a gather: which input elements an output element sums over, as tables for the kernels.

Along one axis, output o of a convolution reads the inputs o * stride - padding + tap * dilation. Output o of
a transposed one reads every input i for which i * stride - padding + tap * dilation = o. Outputs of one
residue modulo the stride, a *phase*, share the taps for which there is such an i, and read evenly spaced
inputs too. So both are sums over taps at fixed distances; a plain convolution has one phase.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

from warpsmith.policy.builtin.graph import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One spatial axis: its sizes, and how kernel and input move against each other."""

    size: int = 1
    out: int = 1
    kernel: int = 1
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    is_transposed: bool = False

    @property
    def num_phases(self) -> int:
        return min(self.stride, self.out) if self.is_transposed else 1

    @property
    def step(self) -> int:
        """From one output of a phase to the next."""
        return self.stride if self.is_transposed else 1

    @property
    def read_step(self) -> int:
        """From the input that one output of a phase reads to the next one's."""
        return 1 if self.is_transposed else self.stride

    def num_outputs(self, phase: int) -> int:
        return len(range(phase, self.out, self.step))

    def taps(self, phase: int) -> tuple[tuple[int, int], ...]:
        """The taps of a phase, each with the input that the phase's first output reads through it."""
        reads = [(tap, tap * self.dilation - self.padding) for tap in range(self.kernel)]
        if not self.is_transposed:
            return tuple(reads)
        # i * stride + read = phase
        return tuple(
            (tap, (phase - read) // self.stride) for tap, read in reads if (phase - read) % self.stride == 0
        )

    @property
    def may_miss(self) -> bool:
        """Whether some output reads beside the input, where there are zeros."""
        for phase in range(self.num_phases):
            last = (self.num_outputs(phase) - 1) * self.read_step
            if any(first < 0 or first + last >= self.size for _, first in self.taps(phase)):
                return True
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tap:
    """`index` into the weight's kernel, and the input that the phase's first output reads through it."""

    index: int
    deltas: tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """Outputs `start` + step * 0, 1, … along each axis, `sizes` of them, and the taps that they sum over."""

    starts: tuple[int, int, int]
    sizes: tuple[int, int, int]
    taps: tuple[Tap, ...]

    @property
    def num_outputs(self) -> int:
        return math.prod(self.sizes)


@dataclass(frozen=True, kw_only=True)
class Convolution:
    """out[n, g * filters + f, …] = bias + sum over c and taps of x[n, g * channels + c, …] * weight."""

    x: Value
    weight: Value  # [groups * filters, channels, …]; transposed: [groups * channels, filters, …]
    bias: Value | None
    out: Value
    groups: int
    channels: int  # of the input, in one group
    filters: int  # channels of the output, in one group
    axes: tuple[Axis, Axis, Axis]
    is_transposed: bool

    @property
    def batch(self) -> int:
        return self.out.shape[0]

    @property
    def num_taps(self) -> int:
        return math.prod(axis.kernel for axis in self.axes)

    @property
    def depth(self) -> int:
        """How many products an output sums, at most."""
        return self.channels * max(len(phase.taps) for phase in self.phases)

    @property
    def plane(self) -> int:
        """Elements of one channel of the input."""
        return math.prod(axis.size for axis in self.axes)

    @property
    def out_plane(self) -> int:
        return math.prod(axis.out for axis in self.axes)

    @property
    def flops(self) -> int:
        """Of the products that are needed: a transposed convolution multiplies no inserted zeros."""
        products = sum(phase.num_outputs * len(phase.taps) for phase in self.phases)
        return 2 * self.batch * self.groups * self.filters * self.channels * products

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """All phases, those of the last axis next to each other: they write the same lines of memory."""
        return tuple(
            self._phase(numbers)
            for numbers in itertools.product(*(range(axis.num_phases) for axis in self.axes))
        )

    def _phase(self, numbers: tuple[int, ...]) -> Phase:
        pairs = list(zip(self.axes, numbers, strict=True))
        d, h, w = (axis.num_outputs(number) for axis, number in pairs)
        taps: list[Tap] = []
        for chosen in itertools.product(*(axis.taps(number) for axis, number in pairs)):
            index = 0
            for (tap, _), axis in zip(chosen, self.axes, strict=True):
                index = index * axis.kernel + tap
            first, second, third = (delta for _, delta in chosen)
            taps.append(Tap(index=index, deltas=(first, second, third)))
        start_d, start_h, start_w = numbers
        return Phase(starts=(start_d, start_h, start_w), sizes=(d, h, w), taps=tuple(taps))

    def offset(self, tap: Tap) -> int:
        """From the first input of an output's phase to the one read through `tap`, in elements."""
        d, h, w = tap.deltas
        return (d * self.axes[1].size + h) * self.axes[2].size + w
