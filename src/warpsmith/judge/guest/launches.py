"""How many kernels a candidate launches, and on the cpu device what they move."""

import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import torch

from warpsmith.judge.clock.model import Launch, Unit
from warpsmith.judge.guest.graphs import captured
from warpsmith.judge.guest.memory import poisoned
from warpsmith.judge.oracle.record import record
from warpsmith.judge.protocol import Counted

HALVES = (torch.float16, torch.bfloat16)
OWN = ("counters", "reset_counters")


def on_cpu(call: Callable[[], object]) -> Counted:
    """A record a launcher call, from the extension's counters, and one an operator of torch's that works."""
    extension = sys.modules.get("cuda_extension")
    if extension is None:
        return _counted(record(call, []).launches)
    own: list[Launch] = []
    launchers = {
        name: value for name, value in vars(extension).items() if _is_launcher(extension, name, value)
    }
    replaced = {name: _recording(extension, launcher, own) for name, launcher in launchers.items()}
    _exchange(launchers, replaced)
    extension.reset_counters()
    try:
        with poisoned():  # as when answers are compared, or the program could tell the difference by that
            done = record(call, [])
    finally:
        _exchange(replaced, launchers)
    return _counted((*own, *_unnamed(extension, own), *done.launches))


def _unnamed(extension: ModuleType, own: list[Launch]) -> tuple[Launch, ...]:
    """What launchers did that were called by references that could not be exchanged: in a dict, or kept."""
    counts = extension.counters()
    kernels = counts["launches"] - sum(launch.kernels for launch in own)
    num_bytes = counts["bytes"] - sum(launch.num_bytes for launch in own)
    flops = counts["library_flops"] - sum(launch.flops for launch in own)
    if not kernels and not flops:
        return ()
    return (Launch(name=extension.__name__, num_bytes=num_bytes, flops=flops, kernels=kernels),)


def _counted(found: tuple[Launch, ...]) -> Counted:
    return Counted(launches=found, num_launches=sum(launch.kernels for launch in found))


def on_cuda(call: Callable[[], object]) -> Counted:
    """The number of kernels, copies and fills, from a CUDA graph of one call; None if it holds none.

    A profiler would tell more, but takes seconds to start and slows what runs after it.
    """
    graph = captured(call)
    return Counted(launches=(), num_launches=(graph and graph.num_working_nodes) or None)


def _is_launcher(extension: ModuleType, name: str, value: object) -> bool:
    is_own = isinstance(value, FunctionType) and value.__module__ == extension.__name__
    return is_own and not name.startswith("_") and name not in OWN


def _recording(
    extension: ModuleType, launcher: Callable[..., object], found: list[Launch]
) -> Callable[..., object]:
    def call(*args: Any, **kwargs: Any) -> object:
        before = extension.counters()
        answer = launcher(*args, **kwargs)
        counts = {name: count - before[name] for name, count in extension.counters().items()}
        tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
        found.append(
            Launch(
                name=launcher.__name__,
                num_bytes=counts["bytes"],
                flops=counts["library_flops"],
                # The counters do not say which unit a product would use: operands of half precision mean
                # tensor cores, all else plain fp32.
                unit=Unit.BF16 if any(tensor.dtype in HALVES for tensor in tensors) else Unit.FP32,
                kernels=counts["launches"],
            )
        )
        return answer

    return call


def _exchange(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Put `new` in the place of `old`, wherever a loaded module of the candidate's names it."""
    for module in (sys.modules["cuda_extension"], sys.modules["model_new"]):
        for name, value in list(vars(module).items()):
            for key, known in old.items():
                if value is known:
                    setattr(module, name, new[key])
