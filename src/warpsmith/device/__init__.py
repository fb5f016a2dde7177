"""What executes a kernel: `cuda`, a GPU seen by its driver, or `cpu`, the same source run on the host."""

from collections.abc import Callable

from warpsmith.core.errors import EnvironmentMissing, UsageError
from warpsmith.device.base import Device, DeviceKind, Gpu
from warpsmith.device.cuda import DriverGpu, NoGpu, find_gpus
from warpsmith.device.gpus import GPUS
from warpsmith.device.peaks import peaks_of

__all__ = [
    "DEVICES",
    "GPUS",
    "Device",
    "DeviceKind",
    "DriverGpu",
    "Gpu",
    "NoGpu",
    "find_gpus",
    "select_device",
]


def select_device(kind: str = "auto", arch: str | None = None, gpu: str | None = None) -> Device:
    """The device to judge on; `auto` is the first GPU the driver sees, else the CPU.

    `gpu` names the table entry whose peaks apply (default: the GPU itself; an H200 on the CPU).
    Raises UsageError for an unknown kind or GPU, EnvironmentMissing if a GPU is asked for and there is none.
    """
    if kind not in ("auto", *DEVICES):
        raise UsageError(f"unknown device {kind!r}; choose one of auto, {', '.join(DEVICES)}")
    if gpu is not None and gpu not in GPUS:
        raise UsageError(f"unknown GPU {gpu!r}; choose one of {', '.join(GPUS)}")
    if kind == "auto":
        kind = "cpu" if isinstance(find_gpus(), NoGpu) else "cuda"
    return DEVICES[kind](arch, gpu)


def _cuda(arch: str | None, gpu: str | None) -> Device:
    found = find_gpus()
    if isinstance(found, NoGpu):
        raise EnvironmentMissing(f"no GPU to run on: {found.reason}; use `--device cpu` to run on the CPU")
    first = found[0]
    peaks = GPUS[gpu] if gpu else peaks_of(first)
    return Device(
        kind="cuda",
        arch=arch or first.arch,
        gpu=peaks,
        name=first.name,
        uuid=first.uuid,
        memory_bytes=first.memory_bytes,
    )


def _cpu(arch: str | None, gpu: str | None) -> Device:
    peaks = GPUS[gpu or "h200"]
    return Device(
        kind="cpu", arch=arch or peaks.arch, gpu=peaks, name=f"CPU standing in for {peaks.name}", uuid=None
    )


DEVICES: dict[str, Callable[[str | None, str | None], Device]] = {"cuda": _cuda, "cpu": _cpu}
