"""Guests for candidates: each is used once, and one is started ahead, for starting takes seconds."""

from collections.abc import Iterator
from contextlib import contextmanager

from warpsmith.judge.guest_client import GuestClient
from warpsmith.judge.programs import Programs


class Guests:
    """Lends guests. `keep_spare` decides whether one waits, with torch imported, while none is lent."""

    def __init__(self, programs: Programs, *, keep_spare: bool) -> None:
        self._programs = programs
        self._keep_spare = keep_spare
        self._spare = programs.guest() if keep_spare else None

    @contextmanager
    def lend(self) -> Iterator[GuestClient]:
        """A guest in which no candidate has run. It ends with the loan, unless nothing was run in it."""
        guest, self._spare = self._spare or self._programs.guest(), None
        try:
            yield guest
        finally:
            if guest.is_spoiled or not self._keep_spare:
                self._end(guest)
            else:
                self._spare = guest
        if self._keep_spare and self._spare is None:
            self._spare = self._programs.guest()

    def close(self) -> None:
        """End the one that waits."""
        if self._spare is not None:
            self._end(self._spare)
            self._spare = None

    def _end(self, guest: GuestClient) -> None:
        guest.close()
        self._programs.clear(guest)
