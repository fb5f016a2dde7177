"""One way of timing for everybody: the candidate in the guest, its baselines in the oracle.

A timed call, all on one stream but for what the program itself does elsewhere:

    write a buffer, several times | hide a few elements of its inputs |
    write the buffer, larger than L2, once more | put them back | event | call | event

The writing keeps the stream busy while the CPU launches, as a model's other layers would, so that the events
enclose the GPU's time; of a program that takes longer to launch, the rest is seen. The last writing makes the
call find a cold cache. Putting back a few elements after it makes early work worthless: a kernel on a stream
that does not wait would have run beside the flush, unseen by any clock, but has then read NaN.

A batch ends with a wait for the whole device. Some batches wait after each call as well, so that no work runs
on, unseen, into the next call's flush. That wait costs the host's clock its precision: on an H200 what is
around a call scatters by 5 us with it and by 1 us without. Nothing is launched ahead then, so that the
stream is kept busy for longer.

What is called here was looked up before a candidate's code was imported, so that it cannot be exchanged by
name. That makes cheating harder, not impossible; the host's clock is what decides (`rounds`).
"""

import itertools
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import torch

from warpsmith.judge.clock.veil import Veil, flat
from warpsmith.judge.tensorfile import leaves

NUM_LATE: Final = 64  # elements of one input; few, so that the cache stays cold
NUM_BUSY: Final = 12  # writes of the buffer beforehand: on an H200 0.45 ms, more than most take to launch
WAITS_TIMES: Final = 2  # as many where each call is waited for: nothing is launched ahead there
NUM_UNVEILING: Final = 2  # the same for each tensor that is unveiled

Call = Callable[[list[Any]], object]

_Event = torch.cuda.Event
_record = torch.cuda.Event.record
_elapsed_ms = torch.cuda.Event.elapsed_time
_current_stream = torch.cuda.current_stream
_wait = torch.cuda.synchronize
_now = time.perf_counter
_data_ptr = torch.Tensor.data_ptr
_random = random.SystemRandom()


class Stopwatch:
    """Times calls on the current CUDA device. If it `pretends`, no set is veiled: unveiling changes none."""

    def __init__(self, flush_bytes: int, device: str = "cuda", *, pretends: bool = False) -> None:
        self._device = device
        self._pretends = pretends
        self._flushed = torch.empty(max(flush_bytes // 4, 1), dtype=torch.int32, device=device)
        self._place(())

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

    def run(
        self,
        call: Call,
        sets: Sequence[list[Any]],
        num_calls: int,
        *,
        waits: bool = False,
        key: int | None = None,
    ) -> tuple[list[float], list[object]]:
        """The time of each call in µs by device events, and what each returned.

        With `key` each set is veiled, the first with that key, the next with the next.
        """
        stream = _current_stream()
        events = [(_Event(enable_timing=True), _Event(enable_timing=True)) for _ in range(num_calls)]
        if self._sets is not sets:
            self._place(sets)
        late = self._late
        late.choose()
        outputs: list[object] = []
        num_busy = NUM_BUSY * (WAITS_TIMES if waits else 1)
        self._flushed.fill_(0)  # wakes the GPU for this process
        _wait()
        if key is not None:
            self._keep_busy(NUM_UNVEILING * self._veil.num_tensors)
            self._veil.turn(key)
        for index, (start, end) in enumerate(events):
            inputs = sets[index % len(sets)]
            self._keep_busy(num_busy)
            late.hide(index % len(sets))
            self._flushed.fill_(index)
            late.put_back(index % len(sets))
            _record(start, stream)
            outputs.append(call(inputs))
            _record(end, stream)
            if waits:
                _wait()
        _wait()
        for pointer in _pointers(outputs):
            assert pointer >= 0
        return [1e3 * _elapsed_ms(start, end) for start, end in events], outputs

    def _place(self, sets: Sequence[list[Any]]) -> None:
        """Look up all that can be of new sets; an empty run does it ahead of a timed one."""
        self._sets = sets
        self._late = _Late(sets)
        self._veil = Veil(sets, self._device, pretends=self._pretends)

    def _keep_busy(self, num_writes: int) -> None:
        """Give the GPU more to do than the CPU needs to launch what follows: else launching is timed."""
        for index in range(num_writes):
            self._flushed.fill_(index)


class _Late:
    """Some elements of each set's largest tensor, at the same random places, to be hidden for a while.

    All that can be looked up is looked up before the clock runs.
    """

    def __init__(self, sets: Sequence[list[Any]]) -> None:
        first = list(leaves(sets[0])) if sets else []
        weights: list[int] = [tensor.numel() * (2 if tensor.is_floating_point() else 1) for tensor in first]
        heaviest = max(weights, default=0)
        self._flat: list[torch.Tensor] = []
        if not heaviest:
            return
        self._flat = [flat(list(leaves(inputs))[weights.index(heaviest)]) for inputs in sets]
        like = self._flat[0]
        self._num_elements = min(one.numel() for one in self._flat)
        self._where = torch.zeros(NUM_LATE, dtype=torch.int64, device=like.device)
        self._kept = torch.empty(NUM_LATE, dtype=like.dtype, device=like.device)
        self._hidden = torch.zeros_like(self._kept)
        if like.is_floating_point() or like.is_complex():
            self._hidden.fill_(math.nan)

    def choose(self) -> None:
        """Other places, which no seed of a program's tells."""
        if self._flat:
            places = [_random.randrange(self._num_elements) for _ in range(NUM_LATE)]
            self._where.copy_(torch.tensor(places))

    def hide(self, index: int) -> None:
        if self._flat:
            torch.index_select(self._flat[index], 0, self._where, out=self._kept)
            self._flat[index].index_copy_(0, self._where, self._hidden)

    def put_back(self, index: int) -> None:
        """What was hidden last, of the same set."""
        if self._flat:
            self._flat[index].index_copy_(0, self._where, self._kept)


def _pointers(outputs: object) -> Iterator[int]:
    """Where all that was returned lies: what is lazy has to be made now, while the clock runs."""
    return (_data_ptr(tensor) for tensor in leaves(outputs))
