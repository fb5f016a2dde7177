"""What executes a kernel, and the peaks that bound it."""

from dataclasses import dataclass
from typing import Literal

DeviceKind = Literal["cuda", "cpu"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU's peaks. Tensor-core rates are dense; `source` names where each figure comes from."""

    name: str
    arch: str  # as nvcc's -arch takes it
    dram_bytes_s: float
    fp32_flops: float
    tf32_flops: float
    bf16_flops: float  # fp32 accumulation
    launch_us: float  # assumed, not measured: what one more kernel costs in a busy stream
    l2_bytes: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Where candidates run: a GPU, or the CPU standing in for one whose peaks model the time."""

    kind: DeviceKind
    arch: str
    gpu: Gpu
    name: str
    uuid: str | None  # of the physical GPU, as nvidia-smi prints it
    memory_bytes: int = 0  # the GPU's own; none on the cpu device
