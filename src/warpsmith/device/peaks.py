"""Peaks of a physical GPU: from the table if it is listed, else worked out from its driver's clocks.

Figures measured on the GPU itself, once for each UUID, belong before both: `peaks_of` is where they come in.
"""

from dataclasses import dataclass
from typing import Final

from warpsmith.core.errors import EnvironmentMissing
from warpsmith.device.base import Gpu
from warpsmith.device.cuda import DriverGpu
from warpsmith.device.gpus import ASSUMED_LAUNCH_US, GPUS

# What the driver calls the GPUs of the table.
_DRIVER_NAMES: Final = {
    "NVIDIA H200": "h200",
    "NVIDIA H100 80GB HBM3": "h100",
    "NVIDIA A100-SXM4-80GB": "a100",
    "NVIDIA GeForce RTX 4090": "rtx4090",
    "NVIDIA L4": "l4",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _SmRates:
    """Operations of one multiprocessor in one clock; a fused multiply-add is two."""

    fp32: int
    tf32: int
    bf16: int


# By compute capability: CUDA programming guide, "arithmetic instructions", and the whitepapers.
_RATES: Final = {
    (8, 0): _SmRates(fp32=128, tf32=1024, bf16=2048),
    (8, 6): _SmRates(fp32=256, tf32=256, bf16=512),
    (8, 9): _SmRates(fp32=256, tf32=256, bf16=512),
    (9, 0): _SmRates(fp32=256, tf32=2048, bf16=4096),
    (10, 0): _SmRates(fp32=256, tf32=4096, bf16=8192),
    (12, 0): _SmRates(fp32=256, tf32=256, bf16=512),
}


def peaks_of(gpu: DriverGpu) -> Gpu:
    """The peaks of `gpu`. Raises EnvironmentMissing if it is not listed and its driver tells too little."""
    listed = _DRIVER_NAMES.get(gpu.name)
    return GPUS[listed] if listed else _derived(gpu)


def _derived(gpu: DriverGpu) -> Gpu:
    rates = _RATES.get(gpu.capability)
    if rates is None or not gpu.memory_clock_hz:
        raise EnvironmentMissing(
            f"no peaks are known for {gpu.name} ({gpu.arch}); "
            f"name the nearest one of {', '.join(GPUS)} with --gpu"
        )
    per_rate = gpu.num_sms * gpu.clock_hz
    return Gpu(
        name=gpu.name,
        arch=gpu.arch,
        dram_bytes_s=2 * gpu.memory_clock_hz * gpu.memory_bus_bits / 8,  # double data rate
        fp32_flops=per_rate * rates.fp32,
        tf32_flops=per_rate * rates.tf32,
        bf16_flops=per_rate * rates.bf16,
        launch_us=ASSUMED_LAUNCH_US,
        l2_bytes=gpu.l2_bytes,
        source="worked out from the driver's clocks, memory bus width and number of multiprocessors; "
        "launch cost: our assumption, not measured",
    )
