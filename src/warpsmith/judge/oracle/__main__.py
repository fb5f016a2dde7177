"""`python -m warpsmith.judge.oracle`: answer the judge's requests about one task."""

import os
import threading

from warpsmith.judge.channel import serve
from warpsmith.judge.oracle.session import Session
from warpsmith.judge.protocol import OracleCall, OracleReply

FIRST_PID = 32  # guests in a namespace of processes of their own have smaller ones


def main() -> None:
    _take_another_pid()
    session = Session()
    serve(OracleCall, lambda call: OracleReply(nonce=call.nonce, answer=session.answer(call.request)))


def _take_another_pid() -> None:
    """Go on as a process with another number than any guest's.

    CUDA takes an inter-process handle whose owner's process number is its own for a handle of its own, and
    refuses to open it. Each sandbox counts processes from one, so oracle and guest would have the same.
    """
    if os.getpid() >= FIRST_PID:
        return
    while _number_of_a_thread() < FIRST_PID - 1:
        pass
    child = os.fork()
    if child:  # is the oracle
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 255)


def _number_of_a_thread() -> int:
    """The kernel numbers threads and processes in one sequence, and a thread costs less."""
    numbers: list[int] = []
    thread = threading.Thread(target=lambda: numbers.append(threading.get_native_id()))
    thread.start()
    thread.join()
    return numbers[0]


if __name__ == "__main__":
    main()
