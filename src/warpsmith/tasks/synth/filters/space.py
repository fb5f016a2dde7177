"""The GPU's memory, shared out among visits before they fill it: who gets some, and who waits.

Sixteen visits of tasks that each fill a tenth of a GPU would otherwise run out of memory, all of them, and be
looked at again one by one.
"""

import threading
from collections import deque


class Space:
    """So many bytes, lent in the order of asking: else who wants much would wait for ever."""

    def __init__(self, num_bytes: int) -> None:
        self._num_bytes = num_bytes
        self._num_free = num_bytes
        self.num_holders = 0
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    def take(self, num_bytes: int) -> "Share":
        """Waits until there is room. Who wants more than there is gets all of it, alone."""
        wanted, ticket = min(num_bytes, self._num_bytes), object()
        with self._changed:
            self._waiting.append(ticket)
            self._changed.wait_for(lambda: self._waiting[0] is ticket and self._num_free >= wanted)
            self._waiting.popleft()
            self._num_free -= wanted
            self.num_holders += 1
            self._changed.notify_all()
        return Share(self, wanted)

    def give_back(self, num_bytes: int) -> None:
        with self._changed:
            self._num_free += num_bytes
            self.num_holders -= 1
            self._changed.notify_all()


class Share:
    """What one visit holds, until it is given back: a second time does nothing."""

    def __init__(self, space: Space, num_bytes: int) -> None:
        self._space = space
        self._num_bytes = num_bytes
        self._is_held = True

    def give_back(self) -> None:
        if self._is_held:
            self._is_held = False
            self._space.give_back(self._num_bytes)


ENTRY_SHARE = 0.25  # of the GPU, for first calls: how much they need is not known before
LOOK_SHARE = 0.65  # for whose need is known; the rest is the contexts', and what allocators keep
ENTRY_BYTES = 4 << 30  # for a first call, and what stays of it: an input set and weights


class Halls:
    """Two spaces, so that who waits in the first keeps nobody in the second from leaving it.

    A visit comes in by the first, waits there for its part of the second, and only then leaves the first. On
    a device without memory of its own nobody waits.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._entry = Space(int(ENTRY_SHARE * memory_bytes))
        self._looking = Space(int(LOOK_SHARE * memory_bytes))

    @property
    def num_looking(self) -> int:
        """How many visits have come as far as the second."""
        return self._looking.num_holders

    def enter(self) -> Share:
        return self._entry.take(ENTRY_BYTES)

    def look(self, entered: Share, num_bytes: int) -> Share:
        share = self._looking.take(num_bytes)
        entered.give_back()
        return share
