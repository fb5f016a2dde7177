"""How many kernels a candidate launches, and on the cpu device what they move."""

import ctypes
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import torch

from warpsmith.judge.model import Launch, Unit
from warpsmith.judge.protocol import Counted

HALVES = (torch.float16, torch.bfloat16)
OWN = ("counters", "reset_counters")
WORKING_NODES = (0, 1, 2)  # CU_GRAPH_NODE_TYPE_: KERNEL, MEMCPY, MEMSET


def on_cpu(call: Callable[[], object]) -> Counted:
    """A record a launcher call, from the extension's counters."""
    extension = sys.modules.get("cuda_extension")
    if extension is None:
        call()
        return Counted(launches=(), num_launches=0)
    record: list[Launch] = []
    launchers = {
        name: value for name, value in vars(extension).items() if _is_launcher(extension, name, value)
    }
    replaced = {name: _recording(extension, launcher, record) for name, launcher in launchers.items()}
    _exchange(launchers, replaced)
    try:
        call()
    finally:
        _exchange(replaced, launchers)
    return Counted(launches=tuple(record), num_launches=sum(launch.kernels for launch in record))


def on_cuda(call: Callable[[], object]) -> Counted:
    """The number of kernels, copies and fills, from a CUDA graph of one call; None if it cannot be captured.

    A profiler would tell more, but takes seconds to start and slows what runs after it.
    """
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    try:
        with torch.cuda.graph(graph):
            call()
    except RuntimeError:  # it synchronizes, or makes a library's handle: legal, but not in a graph
        return Counted(launches=(), num_launches=None)
    return Counted(launches=(), num_launches=_num_working_nodes(graph.raw_cuda_graph()))


def _num_working_nodes(graph: int) -> int:
    driver = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_size_t()
    driver.cuGraphGetNodes(ctypes.c_void_p(graph), None, ctypes.byref(count))
    nodes = (ctypes.c_void_p * count.value)()
    driver.cuGraphGetNodes(ctypes.c_void_p(graph), nodes, ctypes.byref(count))
    return sum(_node_type(driver, node) in WORKING_NODES for node in nodes)


def _node_type(driver: ctypes.CDLL, node: int | None) -> int:
    kind = ctypes.c_int()
    driver.cuGraphNodeGetType(ctypes.c_void_p(node), ctypes.byref(kind))
    return kind.value


def _is_launcher(extension: ModuleType, name: str, value: object) -> bool:
    is_own = isinstance(value, FunctionType) and value.__module__ == extension.__name__
    return is_own and not name.startswith("_") and name not in OWN


def _recording(
    extension: ModuleType, launcher: Callable[..., object], record: list[Launch]
) -> Callable[..., object]:
    def call(*args: Any, **kwargs: Any) -> object:
        extension.reset_counters()
        answer = launcher(*args, **kwargs)
        counts = extension.counters()
        tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
        record.append(
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
