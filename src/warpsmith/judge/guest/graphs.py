"""CUDA graphs of one call, through the driver: which kernels are in it, and what it does without some."""

import ctypes
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch

KERNEL, MEMCPY, MEMSET, CHILD = 0, 1, 2, 4  # CU_GRAPH_NODE_TYPE_...
COOPERATIVE = 2  # CU_LAUNCH_ATTRIBUTE_...
ATTRIBUTE_WORDS = 16  # of a CUlaunchAttributeValue
NUM_TIMED = 7


class GraphError(Exception):
    """The driver refused; what was asked for cannot be had for this graph."""


class _KernelParameters(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2."""

    _fields_ = (
        ("func", ctypes.c_void_p),
        ("sizes", ctypes.c_uint * 7),  # of grid and block, and shared bytes
        ("kernel_params", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kern", ctypes.c_void_p),
        ("ctx", ctypes.c_void_p),
    )


@dataclass(frozen=True, slots=True)
class Node:
    """A piece of work in a graph. Kernels have a name."""

    handle: int
    kind: int
    name: str
    is_nested: bool  # in a graph within the graph, where it cannot be disabled
    is_cooperative: bool = False  # its blocks wait for each other: it cannot be disabled and enabled again


class CallGraph:
    """One call, captured; nothing of it has run yet. `outputs` is what the call returned."""

    def __init__(self, graph: torch.cuda.CUDAGraph, outputs: Any) -> None:
        self._graph = graph
        self._executable: int | None = None
        self.outputs = outputs
        self.nodes = tuple(_nodes(graph.raw_cuda_graph(), is_nested=False))

    @property
    def num_working_nodes(self) -> int:
        return sum(node.kind in (KERNEL, MEMCPY, MEMSET) for node in self.nodes)

    def launch(self, *, without: Collection[str] = ()) -> None:
        """Run it, leaving out the kernels named. Raises GraphError if one of them cannot be left out."""
        if cooperative := [node.name for node in self.nodes if node.is_cooperative]:
            raise GraphError(f"{cooperative[0]} is a cooperative kernel")
        executable = self._instantiated()
        for node in self._kernels():
            is_out = node.name in without
            if node.is_nested and is_out:
                raise GraphError(f"{node.name} is in a graph within the graph")
            if not node.is_nested:
                handle, is_in = ctypes.c_void_p(node.handle), ctypes.c_uint(not is_out)
                _call("cuGraphNodeSetEnabled", executable, handle, is_in)
        _call("cuGraphLaunch", executable, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    def share_us(self, own: Collection[str]) -> float | None:
        """The share of the device's time that goes with the kernels named; None if nothing takes any."""
        everything = {node.name for node in self._kernels() if not node.is_nested}
        whole, rest, none = (self._time_us(without) for without in ((), own, everything))
        return min(max((whole - rest) / (whole - none), 0.0), 1.0) if whole > none else None

    def _time_us(self, without: Collection[str]) -> float:
        self.launch(without=without)
        times: list[float] = []
        for _ in range(NUM_TIMED):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            self.launch(without=without)
            end.record()
            end.synchronize()
            times.append(1e3 * start.elapsed_time(end))
        return median(times)

    def _kernels(self) -> Iterator[Node]:
        return (node for node in self.nodes if node.kind == KERNEL)

    def _instantiated(self) -> ctypes.c_void_p:
        if self._executable is None:
            executable = ctypes.c_void_p()
            raw = ctypes.c_void_p(self._graph.raw_cuda_graph())
            _call("cuGraphInstantiateWithFlags", ctypes.byref(executable), raw, ctypes.c_ulonglong(0))
            self._executable = executable.value
        return ctypes.c_void_p(self._executable)

    def close(self) -> None:
        if self._executable is not None:
            torch.cuda.synchronize()
            _call("cuGraphExecDestroy", ctypes.c_void_p(self._executable))
            self._executable = None


def captured(call: Callable[[], Any]) -> CallGraph | None:
    """A graph of one call; None if it cannot be had: the call synchronizes, or replays a graph of its own.

    What the call launches on the legacy default stream runs at once and is not in the graph.
    """
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    try:
        # Relaxed: memory may be allocated and a library's handle be made meanwhile.
        with torch.cuda.graph(graph, capture_error_mode="relaxed"):
            outputs = call()
    # A program may turn a failed capture into any error of its own.
    except Exception:  # noqa: BLE001
        _forget_error()
        _forget_capture()
        return None
    try:
        return CallGraph(graph, outputs)
    except GraphError:
        return None


def _nodes(graph: int, *, is_nested: bool) -> Iterator[Node]:
    count = ctypes.c_size_t()
    _call("cuGraphGetNodes", ctypes.c_void_p(graph), None, ctypes.byref(count))
    handles = (ctypes.c_void_p * count.value)()
    if count.value:
        _call("cuGraphGetNodes", ctypes.c_void_p(graph), handles, ctypes.byref(count))
    for handle in handles:
        assert handle is not None
        kind = ctypes.c_int()
        _call("cuGraphNodeGetType", ctypes.c_void_p(handle), ctypes.byref(kind))
        if kind.value == CHILD:
            child = ctypes.c_void_p()
            _call("cuGraphChildGraphNodeGetGraph", ctypes.c_void_p(handle), ctypes.byref(child))
            yield from _nodes(child.value or 0, is_nested=True)
        else:
            is_kernel = kind.value == KERNEL
            yield Node(
                handle=handle,
                kind=kind.value,
                name=_kernel_name(handle) if is_kernel else "",
                is_nested=is_nested,
                is_cooperative=is_kernel and _is_cooperative(handle),
            )


def _is_cooperative(handle: int) -> bool:
    value = (ctypes.c_int * ATTRIBUTE_WORDS)()
    _call("cuGraphKernelNodeGetAttribute", ctypes.c_void_p(handle), ctypes.c_int(COOPERATIVE), value)
    return bool(value[0])


def _kernel_name(handle: int) -> str:
    """As the compiler mangled it."""
    parameters = _KernelParameters()
    _call("cuGraphKernelNodeGetParams_v2", ctypes.c_void_p(handle), ctypes.byref(parameters))
    name = ctypes.c_char_p()
    if parameters.kern:
        _call("cuKernelGetName", ctypes.byref(name), ctypes.c_void_p(parameters.kern))
    else:
        _call("cuFuncGetName", ctypes.byref(name), ctypes.c_void_p(parameters.func))
    return (name.value or b"").decode(errors="replace")


def _call(function: str, *arguments: Any) -> None:
    """Call a function of the driver. Raises GraphError if it is not there or refuses."""
    try:
        status = ctypes.CDLL("libcuda.so.1")[function](*arguments)
    except (OSError, AttributeError) as error:
        raise GraphError(f"the driver has no {function}: {error}") from error
    if status:
        raise GraphError(f"{function} gave {status}")


def _forget_error() -> None:
    """Clear what a failed capture left, or the program's next launcher would take it for its own."""
    for path in loaded_objects():
        if "libcudart.so" in path:
            ctypes.CDLL(path).cudaGetLastError()


def _forget_capture() -> None:
    """Give the device's generator a state that no capture holds: a failed one never lets go of it."""
    generator = torch.cuda.default_generators[torch.cuda.current_device()]
    fresh = torch.Generator(device=generator.device)
    fresh.manual_seed(generator.initial_seed())
    generator.graphsafe_set_state(fresh.graphsafe_get_state())


def loaded_objects() -> tuple[str, ...]:
    """The shared objects in this process."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = (line.split(maxsplit=5)[-1] for line in lines)
    return tuple(dict.fromkeys(path for path in paths if path.startswith("/") and ".so" in path))
