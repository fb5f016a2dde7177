"""A command that runs beside us, and what it says meanwhile."""

import codecs
import time

from warpsmith.core import Completed, Spoken
from warpsmith.sandbox.pipes import Capture
from warpsmith.sandbox.tree import Launch, ProcessTree


class TreeJob:
    """A process tree that its supervisor ends at the wall limit, whether or not anybody looks."""

    def __init__(self, launch: Launch) -> None:
        """Start it. Raises InfraError if that fails."""
        launch.wall_s = launch.limits.wall_s
        self._tree = ProcessTree(launch)
        self._stdout, self._stderr = Follower(self._tree.stdout), Follower(self._tree.stderr)
        self._completed: Completed | None = None
        self._has_told_note = False

    def spoken(self) -> Spoken:
        is_last = self.ended() is not None
        stdout, stderr = self._stdout.new(is_last=is_last), self._stderr.new(is_last=is_last)
        if is_last and not self._has_told_note:
            self._has_told_note = True
            stderr += self._tree.note
        return Spoken(stdout=stdout, stderr=stderr)

    def ended(self) -> Completed | None:
        if self._completed is None and self._tree.has_ended(time.monotonic()):
            self._completed = self._tree.end()
        return self._completed

    def close(self) -> Completed:
        self._completed = self._tree.end()
        return self._completed


class Follower:
    """One stream, read bit by bit: a character that has come in half waits for its other half."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._position = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def new(self, *, is_last: bool) -> str:
        data, self._position = self._capture.after(self._position)
        return self._decoder.decode(data, final=is_last)
