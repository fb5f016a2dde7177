"""One way of timing for everybody: the candidate in the guest, its baselines in the oracle.

Before each call a buffer larger than L2 is written, so the call finds a cold cache; device events around the
call then give its time, launch gaps included. The rotation of input sets is the caller's.
"""

import time
from collections.abc import Callable

import torch


class Stopwatch:
    """Times calls on the current CUDA device."""

    def __init__(self, flush_bytes: int) -> None:
        self._flushed = torch.empty(max(flush_bytes // 4, 1), dtype=torch.int32, device="cuda")

    def warm_up(self, call: Callable[[], object], warm_up_ms: float) -> float:
        """Call for `warm_up_ms`, three times at least; the last call's time in µs, with its flush."""
        call()
        torch.cuda.synchronize()
        began = time.perf_counter()
        num_calls = 0
        while num_calls < 3 or time.perf_counter() - began < warm_up_ms / 1e3:
            last = time.perf_counter()
            self._flushed.fill_(num_calls)
            call()
            torch.cuda.synchronize()
            num_calls += 1
        return 1e6 * (time.perf_counter() - last)

    def samples_us(self, call: Callable[[], object], num_calls: int) -> tuple[float, ...]:
        """The time of each of `num_calls` calls."""
        starts = [torch.cuda.Event(enable_timing=True) for _ in range(num_calls)]
        ends = [torch.cuda.Event(enable_timing=True) for _ in range(num_calls)]
        torch.cuda.synchronize()
        for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
            self._flushed.fill_(index)
            start.record()
            call()
            end.record()
        torch.cuda.synchronize()
        return tuple(1e3 * start.elapsed_time(end) for start, end in zip(starts, ends, strict=True))
