"""The GPU, shared: turns at timing, one at a time and several in a row so that others stop seldom; memory."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from warpsmith.device.base import Device
from warpsmith.device.lease import FileLeases, Held, Leases
from warpsmith.tasks.synth.filters.space import Halls

PATIENCE_S = 3.0  # for others to join before the GPU is taken from everybody


class Desk:
    """For the threads of one process. Nothing to wait for on the cpu device."""

    def __init__(self, device: Device, batch: int, leases: Leases | None = None) -> None:
        self._uuid = device.uuid
        self.halls = Halls(device.memory_bytes)
        self._batch = batch
        self._leases = leases or FileLeases()
        self._turn = threading.Lock()
        self._changed = threading.Condition()
        self._num_waiting = 0
        self._held: Held | None = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else uses the GPU meanwhile. Raises InfraError if it cannot be had."""
        if self._uuid is None:
            yield
            return
        self._join(1)
        with self._turn:
            try:
                if self._held is None:
                    self._await_others()
                    self._held = self._leases.acquire(self._uuid, is_exclusive=True)
                yield
            finally:
                self._join(-1)
                if not self._num_waiting:
                    self._release()

    @contextmanager
    def among_others(self) -> Iterator[None]:
        """The GPU may be used, and nobody times on it."""
        if self._uuid is None:
            yield
            return
        held = self._leases.acquire(self._uuid, is_exclusive=False)
        try:
            yield
        finally:
            self._leases.release(held)

    def _join(self, change: int) -> None:
        with self._changed:
            self._num_waiting += change
            self._changed.notify_all()

    def _await_others(self) -> None:
        with self._changed:
            self._changed.wait_for(self._is_batch, timeout=PATIENCE_S)

    def _is_batch(self) -> bool:
        """No more can come than there is memory for."""
        return self._num_waiting >= min(self._batch, max(1, self.halls.num_looking))

    def _release(self) -> None:
        if self._held is not None:
            self._leases.release(self._held)
            self._held = None
