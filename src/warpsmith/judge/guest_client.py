"""The host's side of one guest: a process that runs one candidate, and whose every word is a claim."""

import math
import time
from pathlib import Path
from typing import TypeVar, overload

from warpsmith.core import Completed, Crashed, Guest, InfraError, Rejected, TimedOut
from warpsmith.judge.exchange import exchange, failure, fresh_nonce, start_failure
from warpsmith.judge.protocol import (
    CANDIDATE,
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
    Time,
    Timed,
)

A = TypeVar("A")
B = TypeVar("B")
Failed = Crashed | TimedOut | Rejected

NUM_ASKED = 6  # the least counts: the first loads code, and others may use the GPU

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
        self.asking_us = math.inf  # what an empty request to time costs, found before it knew any candidate
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

    def prepare(self, loan: Loan | None, *, flush_bytes: int, limit_s: float) -> str | None:
        """Let it make a CUDA context and open the arena; why it cannot. No candidate's code has run yet.

        Raises InfraError if it ends over it.
        """
        if self._is_prepared:
            return None
        prepared = self._own(Prepare(loan=loan, flush_bytes=flush_bytes), Prepared, limit_s)
        self._is_prepared = prepared.why_not is None
        for _ in range(NUM_ASKED):
            began = time.perf_counter()
            self._own(Time(program=CANDIDATE, calls=0), Timed, limit_s)
            self.asking_us = min(self.asking_us, 1e6 * (time.perf_counter() - began))
        return prepared.why_not

    def _own(self, request: GuestRequest, kind: type[A], limit_s: float) -> A:
        """The answer to what no candidate has to do with. Raises InfraError if there is none."""
        nonce = fresh_nonce()
        reply = exchange(self._guest, nonce, GuestCall(nonce=nonce, request=request), GuestReply, limit_s)
        match reply.answer if isinstance(reply, GuestReply) else reply:
            case answer if isinstance(answer, kind):
                return answer
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
