"""The host's side of one guest: a process that runs one candidate, and whose every word is a claim."""

from pathlib import Path
from typing import TypeVar, overload

from warpsmith.core import Completed, Crashed, Guest, InfraError, Rejected, TimedOut
from warpsmith.judge.exchange import exchange, failure, fresh_nonce, start_failure
from warpsmith.judge.protocol import (
    Broken,
    GuestCall,
    GuestReply,
    GuestRequest,
    Hello,
    Loan,
    Prepare,
    Prepared,
    Raised,
    Ready,
)

A = TypeVar("A")
B = TypeVar("B")
Failed = Crashed | TimedOut | Rejected

SPOKE = Rejected(
    rule="channel",
    where="model_new.py",
    message="the program wrote to the judge's own pipe; print to standard output instead",
)


class GuestClient:
    """Asks one guest. `folder` is its own: `candidate/` and `extension/` to read, `exchange/` to write."""

    def __init__(self, guest: Guest, folder: Path, memory_bytes: int | None) -> None:
        self._guest = guest
        self._memory_bytes = memory_bytes
        self.folder = folder
        self._is_prepared = False
        self.is_spoiled = False  # whether it was told anything of a candidate
        self.has_died = False  # over a question, rather than at `close`
        self.candidate = folder / "candidate"
        self.extension = folder / "extension"
        self.exchange = folder / "exchange"

    def greet(self, *, limit_s: float) -> None:
        """Wait until it is there. Raises InfraError if it does not start: no candidate's code has run yet."""
        nonce = fresh_nonce()
        reply = exchange(self._guest, nonce, GuestCall(nonce=nonce, request=Hello()), GuestReply, limit_s)
        if isinstance(reply, Completed):
            raise start_failure(reply, "guest")
        if reply is None or not isinstance(reply.answer, Ready):
            raise InfraError("the guest's first words are no answer; start again")

    def prepare(self, loan: Loan | None, *, limit_s: float) -> str | None:
        """Let it make a CUDA context and open the arena; why it cannot. No candidate's code has run yet.

        Raises InfraError if it ends over it.
        """
        if self._is_prepared:
            return None
        nonce = fresh_nonce()
        call = GuestCall(nonce=nonce, request=Prepare(loan=loan))
        reply = exchange(self._guest, nonce, call, GuestReply, limit_s)
        match reply.answer if isinstance(reply, GuestReply) else reply:
            case Prepared(why_not=why_not):
                self._is_prepared = why_not is None
                return why_not
            case Completed() as completed:
                raise start_failure(completed, "guest")
            case answer:
                raise InfraError(f"the guest cannot use the GPU: {answer}")

    @overload
    def ask(self, request: GuestRequest, kind: type[A], *, stage: str, limit_s: float) -> A | Failed: ...

    @overload
    def ask(
        self, request: GuestRequest, kind: tuple[type[A], type[B]], *, stage: str, limit_s: float
    ) -> A | B | Failed: ...

    def ask(
        self, request: GuestRequest, kind: type[A] | tuple[type[A], type[B]], *, stage: str, limit_s: float
    ) -> A | B | Failed:
        """Its answer of the kind or kinds, or the verdict on one that raised, died or overran its time.

        Raises InfraError if our own part of the guest failed.
        """
        self.is_spoiled = True
        nonce = fresh_nonce()
        reply = exchange(self._guest, nonce, GuestCall(nonce=nonce, request=request), GuestReply, limit_s)
        if isinstance(reply, Completed):
            self.has_died = True
            return failure(reply, stage, limit_s, self._memory_bytes)
        match reply.answer if reply is not None else None:
            case Raised(log=log):
                return Crashed(stage=stage, log=log)
            case Broken(reason=reason):
                raise InfraError(f"the guest failed: {reason}")
            case answer if isinstance(answer, kind):
                return answer
            case _:
                return SPOKE

    def close(self) -> None:
        self._guest.close()
