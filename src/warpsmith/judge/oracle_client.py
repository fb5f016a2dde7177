"""The host's side of the oracle. Whatever goes wrong there is ours or the task's, never a candidate's."""

from typing import TypeVar

from warpsmith.core import Completed, Ending, Guest, InfraError, TaskError
from warpsmith.judge.exchange import exchange, fresh_nonce, last_line, start_failure
from warpsmith.judge.protocol import (
    AtOtherSize,
    Audit,
    Audited,
    Broken,
    Hello,
    Open,
    Opened,
    OracleAnswer,
    OracleCall,
    OracleReply,
    OracleRequest,
    Ready,
    Resized,
    Unavailable,
    Unusable,
    Warm,
    Warmed,
)

T = TypeVar("T")


class OracleClient:
    """Asks one oracle about one task."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    def greet(self, *, limit_s: float) -> Ready:
        """Wait until it is there. Raises InfraError if it does not start."""
        answer = self._exchange(Hello(), limit_s)
        if isinstance(answer, Completed):
            raise start_failure(answer, "oracle")
        return _expected(Hello(), answer, Ready)

    def open(self, request: Open, *, limit_s: float) -> Opened:
        """Let it run the reference. Raises TaskError if the task cannot be judged."""
        return self._run_reference(request, Opened, limit_s)

    def audit(self, request: Audit, *, limit_s: float) -> Audited:
        """Let it probe the reference. Raises TaskError if that does not run."""
        return self._run_reference(request, Audited, limit_s)

    def _run_reference(self, request: Open | Audit, kind: type[T], limit_s: float) -> T:
        answer = self._exchange(request, limit_s)
        match answer:
            case Unusable(reason=reason):
                raise TaskError(reason)
            case Completed(ending=Ending.TIMED_OUT):
                raise TaskError(f"the reference was not done within {limit_s:g} s; lower its sizes or SCALE")
            case Completed(ending=Ending.OUT_OF_MEMORY):
                raise TaskError(
                    "the reference needs more memory than this machine has; lower its sizes or SCALE"
                )
            case Completed():
                raise TaskError(f"the reference ended its process: {last_line(answer)}")
            case _:
                return _expected(request, answer, kind)

    def warm(self, request: Warm, *, limit_s: float) -> float | Unavailable:
        """A call's time in µs, roughly, or why the program cannot run. Raises InfraError as `ask`."""
        answer = self._exchange(request, limit_s)
        if isinstance(answer, Unavailable):
            return answer
        return _expected(request, answer, Warmed).call_us

    def resize(self, request: AtOtherSize, *, limit_s: float) -> Resized | None:
        """Which size it found, if any. Raises InfraError as `ask`."""
        answer = self._exchange(request, limit_s)
        return None if isinstance(answer, Unavailable) else _expected(request, answer, Resized)

    def ask(self, request: OracleRequest, kind: type[T], *, limit_s: float) -> T:
        """Its answer. Raises InfraError if there is none, or one of another kind."""
        return _expected(request, self._exchange(request, limit_s), kind)

    def close(self) -> None:
        self._guest.close()

    def _exchange(self, request: OracleRequest, limit_s: float) -> OracleAnswer | Completed:
        nonce = fresh_nonce()
        call = OracleCall(nonce=nonce, request=request)
        reply = exchange(self._guest, nonce, call, OracleReply, limit_s)
        if reply is None:
            raise InfraError("the oracle said something that is no answer; start again")
        return reply if isinstance(reply, Completed) else reply.answer


def _expected(request: OracleRequest, answer: OracleAnswer | Completed, kind: type[T]) -> T:
    if isinstance(answer, kind):
        return answer
    asked = type(request).__name__
    if isinstance(answer, Completed):
        raise InfraError(f"the oracle died at {asked}: {last_line(answer)}")
    if isinstance(answer, Broken):
        raise InfraError(f"the oracle failed at {asked}: {answer.reason}")
    raise InfraError(f"the oracle answered {type(answer).__name__} to {asked}")
