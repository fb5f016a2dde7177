"""One way of timing for everybody: the candidate in the guest, its baselines and the empty program in the
oracle.

A timed call, all on one stream but for what the program itself does elsewhere:

    hide a few elements of its inputs | write a buffer larger than L2 | put them back | event | call | event
    wait for the whole device

The flush makes the call find a cold cache, and hides from the events what it costs the CPU to launch. Putting
back a few elements after it makes early work worthless: a kernel on a stream that does not wait would have
run beside the flush, unseen by any clock, but has then read NaN. The wait after each call keeps its work from
running on into the next flush: whatever it started is over before the host's own clock stops.

What is called here was looked up before a candidate's code was imported, so that it cannot be exchanged by
name. That makes cheating harder, not impossible; the host's clock is what decides (`rounds`).
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import torch

from warpsmith.judge.tensorfile import leaves

NUM_LATE: Final = 64  # elements of one input; few, so that the cache stays cold

Call = Callable[[list[Any]], object]

_Event = torch.cuda.Event
_record = torch.cuda.Event.record
_elapsed_ms = torch.cuda.Event.elapsed_time
_current_stream = torch.cuda.current_stream
_wait = torch.cuda.synchronize
_now = time.perf_counter
_data_ptr = torch.Tensor.data_ptr


class Stopwatch:
    """Times calls on the current CUDA device."""

    def __init__(self, flush_bytes: int, device: str = "cuda") -> None:
        self._flushed = torch.empty(max(flush_bytes // 4, 1), dtype=torch.int32, device=device)

    def wait(self) -> None:
        """Until all that was started is over."""
        _wait()

    def warm_up(self, call: Call, sets: Sequence[list[Any]], warm_up_ms: float) -> float:
        """Call for `warm_up_ms`, three times at least; the shortest call's time in µs, with its flush."""
        rotation = itertools.cycle(sets)
        call(next(rotation))
        _wait()
        began = _now()
        best_s, num_calls = math.inf, 0
        while num_calls < 3 or _now() - began < warm_up_ms / 1e3:
            last = _now()
            self._flushed.fill_(num_calls)
            call(next(rotation))
            _wait()
            best_s = min(best_s, _now() - last)
            num_calls += 1
        return 1e6 * best_s

    def run(self, call: Call, sets: Sequence[list[Any]], num_calls: int) -> tuple[list[float], list[object]]:
        """The time of each call in µs by device events, and what each returned."""
        stream = _current_stream()
        events = [(_Event(enable_timing=True), _Event(enable_timing=True)) for _ in range(num_calls)]
        late = _Late(sets)
        outputs: list[object] = []
        self._flushed.fill_(0)  # wakes the GPU for this process
        _wait()
        for index, (start, end) in enumerate(events):
            inputs = sets[index % len(sets)]
            kept = late.hide(inputs)
            self._flushed.fill_(index)
            late.put_back(inputs, kept)
            _record(start, stream)
            outputs.append(call(inputs))
            _record(end, stream)
            _wait()
        for pointer in _pointers(outputs):
            assert pointer >= 0
        return [1e3 * _elapsed_ms(start, end) for start, end in events], outputs


class _Late:
    """Some elements of each set's largest tensor, at the same random places, to be hidden for a while."""

    def __init__(self, sets: Sequence[list[Any]]) -> None:
        first = list(leaves(sets[0])) if sets else []
        weights: list[int] = [tensor.numel() * (2 if tensor.is_floating_point() else 1) for tensor in first]
        heaviest: int = max(weights, default=0)
        self._which = weights.index(heaviest) if heaviest else None
        if self._which is not None:
            chosen = [self._flat(inputs) for inputs in sets]
            num_elements = min(flat.numel() for flat in chosen)
            self._where = torch.randint(num_elements, (NUM_LATE,), device=chosen[0].device)
            self._hidden = torch.full((NUM_LATE,), 0, dtype=chosen[0].dtype, device=chosen[0].device)
            if chosen[0].is_floating_point() or chosen[0].is_complex():
                self._hidden.fill_(math.nan)

    def hide(self, inputs: list[Any]) -> torch.Tensor | None:
        if self._which is None:
            return None
        flat = self._flat(inputs)
        kept = flat.index_select(0, self._where)
        flat.index_copy_(0, self._where, self._hidden)
        return kept

    def put_back(self, inputs: list[Any], kept: torch.Tensor | None) -> None:
        if kept is not None:
            self._flat(inputs).index_copy_(0, self._where, kept)

    def _flat(self, inputs: list[Any]) -> torch.Tensor:
        """Its memory, whatever its strides; less than its elements where it is expanded."""
        assert self._which is not None
        tensor = list(leaves(inputs))[self._which].detach()
        room = tensor.untyped_storage().nbytes() // tensor.element_size() - tensor.storage_offset()
        return tensor.as_strided((min(tensor.numel(), room),), (1,))


def _pointers(outputs: object) -> Iterator[int]:
    """Where all that was returned lies: what is lazy has to be made now, while the clock runs."""
    return (_data_ptr(tensor) for tensor in leaves(outputs))
