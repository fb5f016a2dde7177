"""The clock's part in the guest: input sets at hand, timed calls, and what they returned, to be shown."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from warpsmith.judge.clock.stopwatch import Call, Stopwatch
from warpsmith.judge.guest.memory import leave_zeros
from warpsmith.judge.protocol import Place, Placed, Show, Shown, Time, Timed, TooLarge, Warm, Warmed
from warpsmith.judge.tensorfile import room_for, total_bytes


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
        leave_zeros(self._sets)
        stopwatch = self.make_ready(request.flush_bytes)
        return Warmed(call_us=stopwatch.warm_up(call, self._sets, request.warm_up_ms))

    def make_ready(self, flush_bytes: int) -> Stopwatch:
        """The one stopwatch of this process."""
        self._stopwatch = self._stopwatch or Stopwatch(flush_bytes)
        return self._stopwatch

    def time(self, request: Time, call: Call) -> Timed:
        assert self._stopwatch is not None
        self._held = ()
        samples_us, self._held = self._stopwatch.run(
            call, self._sets, request.calls, waits=request.waits, key=request.key
        )
        return Timed(samples_us=tuple(samples_us))

    def holding(self, call: Call, inputs: list[Any]) -> Callable[[], None]:
        """One call, what it returns to be shown as that of call 0."""
        leave_zeros(inputs)

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
