"""Whose kernels do the work of one call, and what the call gives without them.

On the cpu device the stand-ins for CUDA, which are linked into each program, can tell and can leave kernels
out. On a GPU a CUDA graph of the call can, if all of it can be captured. Where that fails, a profiler names
the kernels, and what the extension's functions give is overwritten instead.
"""

import ctypes
import math
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import torch

from warpsmith.judge.guest.graphs import CallGraph, GraphError, captured, loaded_objects
from warpsmith.judge.guest.memory import poisoned
from warpsmith.judge.protocol import Ablation, KernelRun
from warpsmith.judge.tensorfile import leaves

Call = Callable[[], Any]

SAME = 1e-2  # of the largest element: how far two runs of one program may be apart
EXTENSION = "cuda_extension"


class Unreachable(Exception):
    """A candidate's kernels cannot be left out this way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A candidate in the guest, and one call of it on given inputs that may be repeated."""

    call: Call
    model: torch.nn.Module
    folder: Path  # of its extension
    is_cpu: bool

    def kernels(self, *, with_profiler: bool) -> tuple[KernelRun, ...]:
        """Those that the call launches."""
        if self.is_cpu:
            return on_cpu(self.folder, self.call)
        return by_profiler(self.call) if with_profiler else in_graph(self.call)

    def libraries(self) -> tuple[str, ...]:
        """On the cpu device, whether the last call used the stand-in for cuBLAS."""
        return ("cuBLAS",) if self.is_cpu and any(map(_num_library_calls, _runtimes(self.folder))) else ()

    def ablate(self, how: Ablation, own: Collection[str], take: Callable[[Any], None]) -> float | None:
        """Give `take` what the call gives without its own kernels; their share of time, if it was measured.

        Raises Unreachable if that cannot be had, maybe after `take` was given something.
        """
        match how:
            case Ablation.KERNELS if self.is_cpu:
                take(without_kernels_on_cpu(self.folder, self.call))
            case Ablation.KERNELS:
                return without_kernels(own, self.call, take)
            case Ablation.RESULTS:
                with spoiled_results(self.model, self.folder) as called, poisoned():
                    answer = self.call()
                if not called:
                    raise Unreachable("the call uses no function of the program's extension")
                take(answer)
        return None


# --- the cpu device ---


def on_cpu(folder: Path, call: Call) -> tuple[KernelRun, ...]:
    """The kernels of the program in `folder` that one call launches."""
    runtimes = _runtimes(folder)
    for runtime in runtimes:
        runtime.warpsmith_counters_reset()
    call()
    return tuple(KernelRun(name=name) for name in dict.fromkeys(_launched(runtimes)))


def without_kernels_on_cpu(folder: Path, call: Call) -> Any:
    """What a call gives if none of the program's kernels runs."""
    runtimes = _runtimes(folder)
    for runtime in runtimes:
        runtime.warpsmith_make_inert(1)
    try:
        with poisoned():
            return call()
    finally:
        for runtime in runtimes:
            runtime.warpsmith_make_inert(0)


def _runtimes(folder: Path) -> list[ctypes.CDLL]:
    """The program's shared objects in this process, each with stand-ins for CUDA of its own."""
    own = (path for path in loaded_objects() if Path(path).is_relative_to(folder.resolve()))
    return [found for found in map(ctypes.CDLL, own) if hasattr(found, "warpsmith_make_inert")]


def _num_library_calls(runtime: ctypes.CDLL) -> int:
    counts = (ctypes.c_longlong * 4)()
    runtime.warpsmith_counters_read(counts)
    return counts[3]


def _launched(runtimes: list[ctypes.CDLL]) -> Iterator[str]:
    for runtime in runtimes:
        name_of = runtime.warpsmith_launched_kernel
        name_of.restype = ctypes.c_char_p
        index = 0
        while (name := name_of(index)) is not None:
            yield name.decode(errors="replace")
            index += 1


# --- a GPU ---


def in_graph(call: Call) -> tuple[KernelRun, ...]:
    """The kernels of a CUDA graph of the call; none if there can be no graph."""
    graph = captured(call)
    if graph is None:
        return ()
    return tuple(
        KernelRun(name=name) for name in dict.fromkeys(node.name for node in graph.nodes if node.name)
    )


def by_profiler(call: Call) -> tuple[KernelRun, ...]:
    """The kernels of one call with their device time, from CUPTI."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        call()
        torch.cuda.synchronize()
    results = profiler.profiler.kineto_results if profiler.profiler is not None else None
    times: dict[str, float] = {}
    for event in results.events() if results is not None else ():
        name = event.name()
        if "CUDA" in str(event.device_type()) and not name.startswith(("Memcpy", "Memset", "Context Sync")):
            times[name] = times.get(name, 0.0) + event.duration_ns() / 1e3
    return tuple(KernelRun(name=name, device_us=time_us) for name, time_us in times.items())


def without_kernels(own: Collection[str], call: Call, take: Callable[[Any], None]) -> float | None:
    """Give `take` what a call's graph gives without the kernels named; the share of time that is theirs.

    Raises Unreachable if there can be no graph, or the call does more than what is in it.
    """
    with poisoned():
        graph = captured(call)
    if graph is None:
        raise Unreachable("the call cannot be captured in a CUDA graph")
    try:
        # Before anything of this call has run, so that no buffer holds its results.
        graph.launch(without=own)
        torch.cuda.synchronize()
        take(graph.outputs)
        if not _is_whole(graph, call):
            raise Unreachable("the call does more than what a CUDA graph of it holds")
        return _share(own, call)
    except GraphError as error:
        raise Unreachable(str(error)) from error
    finally:
        graph.close()


def _share(own: Collection[str], call: Call) -> float | None:
    """Measured on another graph, since in the first one all fresh memory is filled."""
    graph = captured(call)
    if graph is None:
        return None
    try:
        return graph.share_us(own)
    finally:
        graph.close()


def _is_whole(graph: CallGraph, call: Call) -> bool:
    """Whether the graph alone gives what the call gives."""
    graph.launch()
    torch.cuda.synchronize()
    replayed = [tensor.clone() for tensor in leaves(graph.outputs)]
    with poisoned():
        called = list(leaves(call()))
    torch.cuda.synchronize()
    return len(replayed) == len(called) and all(map(_are_alike, replayed, called))


def _are_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point():
        return True  # random or tied indices may differ between runs
    ones, others = one.double(), other.double()
    scale = others.nan_to_num(0.0, 0.0, 0.0).abs().max().item() if others.numel() else 0.0
    return bool(torch.allclose(ones, others, rtol=SAME, atol=SAME * scale, equal_nan=True))


# --- any device ---


@contextmanager
def spoiled_results(model: torch.nn.Module, folder: Path) -> Iterator[list[str]]:
    """Inside, what the extension's functions write or return is overwritten. Lists those that were called.

    A replay of the program's own CUDA graphs does nothing.
    """
    called: list[str] = []
    spoiling = {id(old): (old, _spoiling(old, called)) for old in _functions(folder)}
    backward = {id(new): (new, old) for old, new in spoiling.values()}
    replay = torch.cuda.CUDAGraph.replay
    _exchange(spoiling, model, folder)
    vars_of_graph: Any = torch.cuda.CUDAGraph
    vars_of_graph.replay = lambda *_: called.append("CUDAGraph.replay")
    try:
        yield called
    finally:
        vars_of_graph.replay = replay
        _exchange(backward, model, folder)


def _spoiling(function: Callable[..., Any], called: list[str]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        called.append(function.__name__)
        given = list(leaves([args, kwargs]))
        before = [tensor.clone() for tensor in given]
        answer = function(*args, **kwargs)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        for tensor, old in zip(given, before, strict=True):
            if not _is_equal(tensor, old):
                _spoil(tensor)
        for tensor in leaves(answer):
            if not any(tensor is one for one in given):
                _spoil(tensor)
        return answer

    return call


def _is_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Bit by bit, so that NaN is itself."""
    return bool(torch.equal(one.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8)))


def _spoil(tensor: torch.Tensor) -> None:
    tensor.detach().fill_(math.nan if tensor.is_floating_point() or tensor.is_complex() else 0)


def _functions(folder: Path) -> list[Callable[..., Any]]:
    """All that the candidate's extension modules offer."""
    extensions = [module for module in _modules(folder) if _is_extension(module, folder)]
    return [
        value
        for module in extensions
        for name, value in vars(module).items()
        if isinstance(value, FunctionType | BuiltinFunctionType) and not name.startswith("_")
    ]


def _modules(folder: Path) -> list[ModuleType]:
    """The candidate's modules: its own, and its extensions."""
    found = [module for module in list(sys.modules.values()) if isinstance(module, ModuleType)]
    places = (
        folder.resolve(),
        Path(str(getattr(sys.modules["model_new"], "__file__", "/"))).resolve().parent,
    )
    return [
        module
        for module in found
        if (path := getattr(module, "__file__", None))
        and any(Path(path).resolve().is_relative_to(place) for place in places)
    ]


def _is_extension(module: ModuleType, folder: Path) -> bool:
    return Path(str(module.__file__)).resolve().is_relative_to(folder.resolve())


def _exchange(new: dict[int, tuple[Any, Any]], model: torch.nn.Module, folder: Path) -> None:
    """Replace functions wherever a module of the candidate's or a part of its model names one."""
    for holder in (*_modules(folder), *model.modules()):
        for name, value in list(vars(holder).items()):
            if id(value) in new:
                vars(holder)[name] = new[id(value)][1]
