"""A recipe's memory settings on the machine at hand."""

from dataclasses import replace

from warpsmith.learn.config import MemoryConfig


def suited(memory: MemoryConfig, device_kind: str) -> MemoryConfig:
    """Few CPUs have instructions for bfloat16, and memory to spare."""
    return memory if device_kind == "cuda" else replace(memory, precision="fp32", is_checkpointed=False)
