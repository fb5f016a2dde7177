"""`python -m warpsmith.bench.worker`: works on one task after another, as it is told, a process of its own.

A crash of the tracer, of a library or of the machine's memory costs the task that it befell. Ctrl-C in a
terminal does not reach it: the bench passes on what was meant. It ends with the bench, however that ends.
"""

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from queue import SimpleQueue
from typing import TextIO

from warpsmith.bench.protocol import Doing, Done, Failed, Interrupted, Job, Said, read_job, written
from warpsmith.bench.work import Hands, Stopped, work
from warpsmith.core import EnvironmentMissing, InfraError, UsageError

LOCK_FD = "WARPSMITH_BENCH_LOCK_FD"
PARTING_S = 10.0  # to clean up once the bench is gone


def main(hands: Hands | None = None) -> None:
    """Reads jobs on stdin, says what comes of them on what was stdout; all else goes to stderr."""
    if LOCK_FD in os.environ:  # it is held for as long as this process lives, and by none that it starts
        os.set_inheritable(int(os.environ.pop(LOCK_FD)), False)  # noqa: FBT003 - takes no name
    mouth = Mouth(os.dup(1))
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    jobs: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, jobs), daemon=True).start()
    try:
        serve(jobs.get, mouth.say, hands)
    except (KeyboardInterrupt, BrokenPipeError):
        os._exit(0)  # between two tasks: there is nothing to clean up


class Mouth:
    """Says whole lines. A signal's handler may say something amid a line: it comes after that."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: list[bytes] = []
        self._is_busy = False

    def say(self, message: Said) -> None:
        """Raises BrokenPipeError if nobody listens any more."""
        self._waiting.append(written(message).encode())
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while self._waiting:
                self._say(self._waiting.pop(0))
        finally:
            self._is_busy = False

    def _say(self, line: bytes) -> None:
        while line:
            line = line[os.write(self._descriptor, line) :]


def serve(next_line: Callable[[], str], say: Callable[[Said], None], hands: Hands | None = None) -> None:
    """Until told no more, or interrupted amid a task."""
    while line := next_line():
        said = _outcome(read_job(line), lambda what: say(Doing(what=what)), hands)
        say(said)
        if isinstance(said, Interrupted):
            return


def _outcome(job: Job, tell: Callable[[str], None], hands: Hands | None) -> Said:
    try:
        return Done(record=work(job, tell, hands))
    except (Stopped, KeyboardInterrupt):
        return Interrupted()
    except (EnvironmentMissing, UsageError) as error:
        return Failed(reason=str(error), is_lasting=True, is_usage=isinstance(error, UsageError))
    except (InfraError, OSError) as error:
        return Failed(reason=str(error))
    # The boundary of a task: whatever breaks in it, such as the tracer, costs this task and no other.
    except Exception as error:  # noqa: BLE001
        traceback.print_exc()
        return Failed(reason=f"{type(error).__name__}: {error}")


def _listen(stdin: TextIO, jobs: "SimpleQueue[str]") -> None:
    """Passes on what the bench says. Once it is gone, the task is left as if Ctrl-C were pressed twice."""
    for line in stdin:
        jobs.put(line)
    jobs.put("")
    for _ in range(2):
        time.sleep(0.5)  # an idle one ends by itself
        os.kill(os.getpid(), signal.SIGINT)
    time.sleep(PARTING_S)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
