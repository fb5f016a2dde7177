"""The GPUs we have figures for. A GPU that is none of these gets its peaks from its driver (`peaks.py`)."""

from warpsmith.device.base import Gpu

# Back-to-back launches of empty kernels take 2 to 4 us on all of these; which, hardly moves a model.
ASSUMED_LAUNCH_US = 3.0

_ASSUMPTION = "launch cost: our assumption, not measured"

GPUS: dict[str, Gpu] = {
    "h200": Gpu(
        name="NVIDIA H200",
        arch="sm_90a",
        dram_bytes_s=4.8e12,
        fp32_flops=66.9e12,
        tf32_flops=494.7e12,
        bf16_flops=989.4e12,
        launch_us=ASSUMED_LAUNCH_US,
        l2_bytes=50 << 20,
        source="memory bandwidth: NVIDIA H200 datasheet; peak rates and L2: NVIDIA H100 architecture "
        f"whitepaper, SXM5 column (the same GH100 chip), without sparsity; {_ASSUMPTION}",
    ),
    "h100": Gpu(
        name="NVIDIA H100 SXM",
        arch="sm_90a",
        dram_bytes_s=3.35e12,
        fp32_flops=66.9e12,
        tf32_flops=494.7e12,
        bf16_flops=989.4e12,
        launch_us=ASSUMED_LAUNCH_US,
        l2_bytes=50 << 20,
        source="memory bandwidth: NVIDIA H100 datasheet, SXM column; peak rates and L2: NVIDIA H100 "
        f"architecture whitepaper, SXM5 column, without sparsity; {_ASSUMPTION}",
    ),
    "a100": Gpu(
        name="NVIDIA A100 80GB SXM",
        arch="sm_80",
        dram_bytes_s=2.039e12,
        fp32_flops=19.5e12,
        tf32_flops=156e12,
        bf16_flops=312e12,
        launch_us=ASSUMED_LAUNCH_US,
        l2_bytes=40 << 20,
        source="memory bandwidth and peak rates: NVIDIA A100 80GB datasheet, SXM column, without sparsity; "
        f"L2: NVIDIA A100 architecture whitepaper; {_ASSUMPTION}",
    ),
    "rtx4090": Gpu(
        name="NVIDIA GeForce RTX 4090",
        arch="sm_89",
        dram_bytes_s=1.008e12,
        fp32_flops=82.6e12,
        tf32_flops=82.6e12,
        bf16_flops=165.2e12,
        launch_us=ASSUMED_LAUNCH_US,
        l2_bytes=72 << 20,
        source="all peaks and L2: NVIDIA Ada GPU architecture whitepaper, GeForce RTX 4090 column, without "
        f"sparsity and with fp32 accumulation; {_ASSUMPTION}",
    ),
    "l4": Gpu(
        name="NVIDIA L4",
        arch="sm_89",
        dram_bytes_s=300e9,
        fp32_flops=30.3e12,
        tf32_flops=60e12,
        bf16_flops=121e12,
        launch_us=ASSUMED_LAUNCH_US,
        l2_bytes=48 << 20,
        source="memory bandwidth and peak rates: NVIDIA L4 datasheet, its sparse rates halved; "
        f"L2: NVIDIA Ada GPU architecture whitepaper, AD104 chip; {_ASSUMPTION}",
    ),
}
