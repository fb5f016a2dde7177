"""The clock's part in the guest: input sets at hand, timed calls, and what they returned, to be shown."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from warpsmith.judge.protocol import Place, Placed, Show, Shown, Time, Timed, TooLarge, Warm, Warmed
from warpsmith.judge.stopwatch import Call, Stopwatch
from warpsmith.judge.tensorfile import leaves, room_for, total_bytes


class Timing:
    """Answers the clock's requests. `fresh_inputs` and `put` are how tensors come and go."""

    def __init__(
        self, fresh_inputs: Callable[[Path], list[Any]], put: Callable[[Path, object], None]
    ) -> None:
        self._fresh_inputs = fresh_inputs
        self._put = put
        self._sets: Sequence[list[Any]] = ()
        self._held: Sequence[object] = ()
        self._stopwatch: Stopwatch | None = None

    def place(self, request: Place) -> Placed:
        self._held = ()
        self._sets = [self._fresh_inputs(path) for path in request.inputs]
        return Placed()

    def warm(self, request: Warm, call: Call) -> Warmed:
        _leave_zeros(self._sets)
        self._stopwatch = stopwatch = Stopwatch(request.flush_bytes)
        return Warmed(call_us=stopwatch.warm_up(call, self._sets, request.warm_up_ms))

    def time(self, request: Time, call: Call) -> Timed:
        assert self._stopwatch is not None
        self._held = ()
        samples_us, self._held = self._stopwatch.run(call, self._sets, request.calls, waits=request.waits)
        return Timed(samples_us=tuple(samples_us))

    def holding(self, call: Call, inputs: list[Any]) -> Callable[[], None]:
        """One call, what it returns to be shown as that of call 0."""
        _leave_zeros(inputs)

        def once() -> None:
            self._held = [call(inputs)]

        return once

    def show(self, request: Show) -> Shown | TooLarge:
        outputs = self._held[request.call]
        if room_for(outputs) > request.max_bytes:
            return TooLarge(num_bytes=total_bytes(outputs))
        self._put(request.outputs, outputs)
        if self._stopwatch is not None:
            self._stopwatch.wait()  # another process is about to read it
        return Shown()


def _leave_zeros(tree: object) -> None:
    """Let free memory hold zeros, where `tree` lies.

    NaN that is left there from an examined call would tell a program, wrongly, that it is examined still: it
    would behave, and what it does when nobody looks would not be seen.
    """
    device = next((tensor.device for tensor in leaves(tree)), torch.device("cpu"))
    sizes = [1 << power for power in range(0, 21, 2) for _ in range(32 >> power or 2)]
    blocks = [torch.zeros(size, device=device) for size in sizes]
    del blocks
