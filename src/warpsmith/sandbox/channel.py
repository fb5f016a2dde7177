"""Questions and answers with a started program that we don't trust, a line each."""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from warpsmith.core import Completed, Ending
from warpsmith.sandbox.environment import ANSWERS_FD, REQUESTS_FD
from warpsmith.sandbox.pipes import LineReader, Silence, write_all
from warpsmith.sandbox.tree import Launch, ProcessTree

ANSWER_BYTES = 64 << 20
AWAKE_S = 0.05  # for an answer whose time counts; longer ones need no such precision
FAREWELL_S = 2.0  # from closing its pipe to its end


class TreeGuest:
    """A process tree that answers. Use it as a context manager, or call `close`."""

    def __init__(self, make_launch: Callable[[tuple[int, ...], dict[str, str]], Launch]) -> None:
        their_requests, self._requests = os.pipe()
        our_answers, their_answers = os.pipe()
        os.set_blocking(self._requests, False)
        theirs = (their_requests, their_answers)
        with ExitStack() as undo:
            undo.callback(os.close, self._requests)
            undo.callback(os.close, our_answers)
            with ExitStack() as undo_theirs:
                for fd in theirs:
                    undo_theirs.callback(os.close, fd)
                launch = make_launch(
                    theirs, dict(zip((REQUESTS_FD, ANSWERS_FD), map(str, theirs), strict=True))
                )
                undo_theirs.pop_all()
            self._tree = ProcessTree(launch)  # closes theirs, started or not
            undo.pop_all()
        self._answers = LineReader(our_answers, ANSWER_BYTES, hangup=self._tree.ended_fd)
        self._is_open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, request: bytes, *, limit_s: float, is_timed: bool = False) -> bytes | Completed:
        """Its one-line answer, without the newline; or its end, and the same end to every later question.

        A guest that answers unasked, or with more than ANSWER_BYTES, is killed: Ending.SIGNALLED, and a note
        in stderr. `request` must hold no newline.

        Raises:
            InfraError: the sandbox could not be set up; the guest never ran.
        """
        assert b"\n" not in request
        if not self._is_open:
            return self.close()
        try:
            answer = self._exchange(request + b"\n", time.monotonic() + limit_s, AWAKE_S if is_timed else 0.0)
        except BaseException:
            self.close()
            raise
        if isinstance(answer, bytes):
            return answer
        return self._end_after(answer, limit_s)

    def close(self) -> Completed:
        """Kill the whole process tree and say how it had ended."""
        return self._end(None, "")

    def _exchange(self, line: bytes, deadline: float, awake_s: float) -> bytes | Silence | None:
        """The answer; None if there was one before the question."""
        if self._answers.has_more():
            return None
        return write_all(self._requests, line, deadline) or self._answers.line(deadline, awake_s)

    def _end_after(self, silence: Silence | None, limit_s: float) -> Completed:
        why, note = ENDINGS[silence]
        if silence is Silence.CLOSED:
            self._tree.has_ended(time.monotonic() + FAREWELL_S)
        return self._end(why, note.format(limit_s=limit_s))

    def _end(self, why: Ending | None, note: str) -> Completed:
        try:
            return self._tree.end(why, note)
        finally:
            if self._is_open:  # till now, lest the guest die of a closed pipe before it is killed
                self._is_open = False
                os.close(self._requests)
                self._answers.close()


ENDINGS: dict[Silence | None, tuple[Ending | None, str]] = {
    Silence.LATE: (Ending.TIMED_OUT, "killed: no answer within {limit_s:g} s"),
    Silence.TOO_LONG: (None, f"killed: an answer of more than {ANSWER_BYTES} bytes"),
    Silence.CLOSED: (None, "killed: it closed the pipe of its answers"),
    None: (None, "killed: it spoke without being asked"),
}
