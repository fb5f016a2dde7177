"""The clock's part in the oracle: input sets from seeds, and programs to time a candidate beside."""

import copy
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import torch

from warpsmith.judge.calls import Caller
from warpsmith.judge.clock.stopwatch import Call, Stopwatch
from warpsmith.judge.clock.veil import Veil
from warpsmith.judge.oracle.reference import Reference
from warpsmith.judge.protocol import (
    COMPILE,
    EAGER,
    TWIN,
    Deal,
    Dealt,
    Time,
    Timed,
    Unavailable,
    Warm,
    Warmed,
)
from warpsmith.judge.tensorfile import changed, leaves

KEPT_BYTES = 4 << 30  # of sets that were made before, for tasks whose sets are slow to make

# Writes the header of an input set and gives the shared memory in which its tensors will lie, as a tree; None
# if the file holds the tensors themselves, since no memory is lent.
Lay = Callable[[Path, list[Any], int], list[Any] | None]


class Timing:
    """Answers the clock's requests about one reference."""

    def __init__(self, reference: Reference, lay: Lay) -> None:
        self._reference = reference
        self._lay = lay
        self._programs: dict[str, Call] = {}
        self._sets: list[list[Any]] = []
        self._laid: dict[Path, tuple[str, list[Any]]] = {}  # what lies where in lent memory, and its layout
        self._kept: dict[int, list[Any]] = {}
        self._stopwatch: Stopwatch

    def deal(self, request: Deal) -> Dealt:
        began = time.perf_counter()
        for seed in request.seeds:
            if seed not in self._kept:
                self._kept[seed] = self._reference.inputs(seed)
        _synchronize()
        making_s = time.perf_counter() - began
        is_new = False
        if request.inputs:
            self._sets = [self._kept[seed] for seed in request.seeds]
            is_new = self._lay_all(request.inputs, request.key)
        self._forget(set(request.seeds))
        return Dealt(making_s=making_s, is_new=is_new)

    def inputs(self, seed: int) -> list[Any]:
        """The set of a seed: kept, or made again."""
        return self._kept[seed] if seed in self._kept else self._reference.inputs(seed)

    def warm(self, request: Warm) -> Warmed | Unavailable:
        self._stopwatch = Stopwatch(request.flush_bytes, pretends=True)
        try:
            if request.program not in self._programs:
                self._programs[request.program] = _program(self._reference, request.program)
            call = self._programs[request.program]
            return Warmed(call_us=self._stopwatch.warm_up(call, self._sets, request.warm_up_ms))
        # torch.compile may raise anything on a reference that eager runs; that says nothing about the
        # candidate.
        except Exception as error:
            if not request.program.startswith(COMPILE):
                raise
            if "torch._dynamo" in sys.modules:
                torch._dynamo.reset()
            self._programs.pop(request.program, None)
            first_line = next(iter(str(error).strip().splitlines()), "")
            return Unavailable(reason=f"{type(error).__name__}: {first_line:.300}")

    def time(self, request: Time) -> Timed:
        program = self._programs[request.program]
        samples_us, _ = self._stopwatch.run(
            program, self._sets, request.calls, waits=request.waits, key=request.key
        )
        return Timed(samples_us=tuple(samples_us))

    def _lay_all(self, paths: tuple[Path, ...], key: int | None) -> bool:
        """Put the sets where a guest finds them, veiled; whether any file had to be written for it."""
        is_new = False
        for slot, (path, inputs) in enumerate(zip(paths, self._sets, strict=True)):
            layout = _layout(inputs)
            known, shared = self._laid.get(path, ("", None))
            if shared is None or known != layout:
                shared, is_new = self._lay(path, inputs, slot), True
                if shared is not None:
                    self._laid[path] = (layout, shared)
            if shared is not None:
                self._pour(inputs, shared, None if key is None else key + slot)
        _synchronize()
        return is_new

    def _pour(self, inputs: list[Any], shared: list[Any], key: int | None) -> None:
        """Copy a set into lent memory; what is veiled is so before any other process may see it."""
        tensors = list(leaves(shared))
        if key is None or not tensors:
            for target, source in zip(tensors, leaves(inputs), strict=True):
                target.copy_(source)
            return
        Veil([shared], str(tensors[0].device), sources=[inputs]).turn(key)

    def _forget(self, needed: set[int]) -> None:
        """Let go of the oldest sets beyond KEPT_BYTES that are not needed now."""
        size = max((_num_bytes(self._kept[seed]) for seed in needed), default=0)  # all have about the same
        excess = len(self._kept) - KEPT_BYTES // max(size, 1)
        for seed in [seed for seed in self._kept if seed not in needed][: max(excess, 0)]:
            del self._kept[seed]


def _program(reference: Reference, name: str) -> Call:
    """What `name` stands for; "compile:MODE" is a mode of torch.compile's."""
    kind, _, mode = name.partition(":")
    made: dict[str, Callable[[], torch.nn.Module]] = {
        EAGER: lambda: reference.model,
        TWIN: lambda: copy.deepcopy(reference.model),
        COMPILE: lambda: cast(torch.nn.Module, torch.compile(reference.model, mode=mode or None)),
    }
    return Caller(made[kind](), reference.regime).timed


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor like it that shows when it is read."""
    return torch.full_like(tensor, poison_of(tensor))


def poison_of(tensor: torch.Tensor) -> float:
    """NaN; in integers zero, which is a valid index."""
    return math.nan if tensor.is_floating_point() or tensor.is_complex() else 0


def _layout(inputs: list[Any]) -> str:
    """All that a tensor file's header says of a set."""
    return repr(changed(inputs, lambda tensor: (tensor.dtype, tuple(tensor.shape), tensor.stride())))


def _num_bytes(inputs: list[Any]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in leaves(inputs))


def _synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
