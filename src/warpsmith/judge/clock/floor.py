"""The speed of light: how long any program for this task must take on a GPU.

Bytes: what the reference reads of its inputs and parameters, once, and its outputs, once, over DRAM
bandwidth. FLOPs: of the reference's matrix products and convolutions over the fastest rate that keeps the
precision policy. fp32-class work may run on tensor cores by products of split operands: three TF32 products,
or three products of two bf16 parts, so its rate is the higher of tf32_flops / 3 and bf16_flops / 3.

A time under what it takes to read the inputs and write the outputs is not possible, a few writes that stay in
L2 aside. A time under the rest is: parameters may be folded ahead into something smaller, and a shorter
algorithm may exist. So only the former refuses a measurement.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.core import Precision
from warpsmith.device.base import Gpu
from warpsmith.judge.clock.model import Launch, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What any program for a task has to move, each tensor once."""

    read_bytes: int  # of inputs and parameters
    input_bytes: int  # of inputs alone
    written_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """Lower bounds of a program's time."""

    bytes_us: float
    flops_us: float
    certain_us: float  # of inputs and outputs alone, without the writes that L2 may hold back

    @property
    def us(self) -> float:
        """The larger of the two; never zero, so that one may divide by it."""
        return max(self.bytes_us, self.flops_us, 1e-3)


def floor(launches: Sequence[Launch], traffic: Traffic, *, precision: Precision, gpu: Gpu) -> Floor:
    """The floor of a task whose reference makes `launches`."""
    flops_s = sum(launch.flops / best_rate(launch.unit, precision, gpu) for launch in launches)
    certain_bytes = traffic.input_bytes + max(traffic.written_bytes - gpu.l2_bytes, 0)
    return Floor(
        bytes_us=1e6 * (traffic.read_bytes + traffic.written_bytes) / gpu.dram_bytes_s,
        flops_us=1e6 * flops_s,
        certain_us=1e6 * certain_bytes / gpu.dram_bytes_s,
    )


def best_rate(unit: Unit, precision: Precision, gpu: Gpu) -> float:
    """The fastest rate at which work that the reference does on `unit` may be done."""
    if unit is Unit.BF16:
        return gpu.bf16_flops
    if unit is Unit.TF32 or precision is Precision.TF32:
        return max(gpu.tf32_flops, gpu.bf16_flops / 3)
    return max(gpu.tf32_flops / 3, gpu.bf16_flops / 3)
