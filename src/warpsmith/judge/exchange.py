"""One request and its answer, and what it means when a program ends instead of answering."""

import secrets
import signal
from typing import Protocol, TypeVar

from warpsmith.core import Completed, Crashed, Ending, EnvironmentMissing, Guest, InfraError, TimedOut
from warpsmith.core.codec import from_json, to_json
from warpsmith.judge.protocol import Time

LOG_CHARS = 3000
NO_TORCH = "No module named 'torch'"


class Call(Protocol):
    """A request on its way, as `protocol` has one for each program."""

    @property
    def request(self) -> object: ...


class Reply(Protocol):
    """An answer on its way, as `protocol` has one for each program."""

    @property
    def nonce(self) -> str: ...


R = TypeVar("R", bound=Reply)


def fresh_nonce() -> str:
    return secrets.token_hex(16)


def exchange(guest: Guest, nonce: str, call: Call, reply: type[R], limit_s: float) -> R | Completed | None:
    """The answer to `call`, or the program's end; None if it says something that is no answer to it."""
    is_timed = isinstance(call.request, Time)
    answer = guest.ask(to_json(call).encode(), limit_s=limit_s, is_timed=is_timed)
    if isinstance(answer, Completed):
        return answer
    try:
        found = from_json(reply, answer.decode())
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if found.nonce == nonce else None


def failure(completed: Completed, stage: str, limit_s: float, memory_bytes: int | None) -> Crashed | TimedOut:
    """The verdict on a candidate that ended instead of answering."""
    match completed.ending:
        case Ending.TIMED_OUT:
            return TimedOut(stage=stage, limit_s=limit_s)
        case Ending.OUT_OF_MEMORY:
            limit = f"{memory_bytes / 2**30:.1f} GiB" if memory_bytes else "all there is"
            what = f"used more memory than its limit of {limit}"
        case Ending.SIGNALLED:
            what = _signal_text(-completed.exit_code)
        case Ending.EXITED:
            what = f"ended with exit code {completed.exit_code} before answering"
    return Crashed(stage=stage, log=f"the program {what}\n{completed.stderr[-LOG_CHARS:]}".strip())


def start_failure(completed: Completed, program: str) -> InfraError:
    """Why one of our own programs did not even start: never the candidate's fault."""
    if NO_TORCH in completed.stderr:
        return EnvironmentMissing("PyTorch is not installed for this Python; run: pip install torch")
    return InfraError(f"the {program} did not start: {last_line(completed)}")


def last_line(completed: Completed) -> str:
    """The end of what it wrote to standard error, or how it ended if it wrote nothing."""
    lines = completed.stderr.strip().splitlines()
    return lines[-1] if lines else f"{completed.ending}, exit code {completed.exit_code}"


def _signal_text(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    hint = " (an access outside of its memory)" if name in ("SIGSEGV", "SIGBUS") else ""
    return f"was killed by {name}{hint}"
