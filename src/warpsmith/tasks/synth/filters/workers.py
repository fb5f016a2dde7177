"""Threads that look at tasks side by side. The looking itself is done in other processes."""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Died:
    """What a look raised, to be raised where the looks were asked for."""

    error: BaseException


class _Looks(Generic[T, R]):
    """What is to be looked at, and what was seen."""

    def __init__(self, items: Sequence[T], look: Callable[[T], R]) -> None:
        self._look = look
        self._waiting: queue.SimpleQueue[T] = queue.SimpleQueue()
        for item in items:
            self._waiting.put(item)
        self.done: queue.SimpleQueue[tuple[T, R | _Died]] = queue.SimpleQueue()
        self.stop = threading.Event()

    def work(self) -> None:
        """One thread's whole life."""
        while not self.stop.is_set():
            try:
                item = self._waiting.get_nowait()
            except queue.Empty:
                return
            self.done.put((item, self._seen(item)))

    def _seen(self, item: T) -> R | _Died:
        try:
            return self._look(item)
        except BaseException as error:  # noqa: BLE001 - else the caller would wait for ever
            return _Died(error)


def side_by_side(items: Sequence[T], look: Callable[[T], R], num_workers: int) -> Iterator[tuple[T, R]]:
    """Each item with what was seen of it, as they come. Raises what a look raises.

    If the caller stops, no further look begins. The threads do not keep the process from ending, and when it
    ends so do the helpers, whose lifelines it holds.
    """
    looks = _Looks(items, look)
    for number in range(min(num_workers, len(items))):
        threading.Thread(target=looks.work, name=f"warpsmith-filter-{number}", daemon=True).start()
    try:
        for _ in items:
            item, seen = looks.done.get()
            if isinstance(seen, _Died):
                raise seen.error
            yield item, seen
    finally:
        looks.stop.set()
