"""Ctrl-C once: finish the current step and save. Twice: stop at once."""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupt:
    """While entered, the first SIGINT only sets `is_requested` and calls `on_request`; the second raises
    KeyboardInterrupt.

    Outside the main thread, where Python delivers no signals, it does nothing.
    """

    def __init__(self, on_request: Callable[[], None]) -> None:
        self._on_request = on_request
        self.is_requested = False
        self._previous: Callable[[int, FrameType | None], Any] | int | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.is_requested:
            raise KeyboardInterrupt
        self.is_requested = True
        self._on_request()
