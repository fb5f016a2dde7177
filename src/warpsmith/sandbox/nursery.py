"""Forks guests from a process that has their modules imported: a start in a tenth of the time.

A nursery's server is a program of ours that imports much and then calls `warden.serve`. It never runs a
candidate's code, and is shared by all sandboxes of this process. If it dies, or is killed by a guest that
nothing keeps from that, the next start takes as long as a first one. Where forking fails, guests are started.
"""

import atexit
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from signal import SIGKILL, pidfd_send_signal
from typing import IO

from warpsmith.core import Command, InfraError
from warpsmith.sandbox.channel import TreeGuest
from warpsmith.sandbox.environment import server_environment
from warpsmith.sandbox.tree import MARK, MARK_DIGITS, Launch
from warpsmith.sandbox.warden import FORK, FORKED, READY

IMPORT_S = 120.0  # till a server has imported everything
FORK_S = 20.0
FORKS = 500  # of one server; it is replaced then, in case that anything of it grows
TRIES = 2  # the first may find the server dead
MAX_FAILURES = 3  # in a row, of one kind of sandbox, till guests are started instead


class Nursery:
    """A server, run when it is first needed, replaced when it is old or dead. For one process's threads."""

    def __init__(self, module: str, *, gpu: bool, forks: int = FORKS) -> None:
        self._module = module
        self._gpu = gpu
        self._forks = forks
        self._lock = threading.Lock()
        self._server: Server | None = None
        self._next: Server | None = None  # on its way, to replace that one
        self._failures: dict[str, int] = {}
        self.owner = os.getpid()
        self.why_not: dict[str, str] = {}  # why the last attempt failed, by kind of sandbox

    def start(self, report: int, fds: tuple[int, ...]) -> "ForkedSupervisor":
        """Fork; `report` and `fds` are the fork's own from here on. Raises InfraError if that fails."""
        with ExitStack() as theirs, ExitStack() as undo:
            given = [report, *fds]
            for fd in given:
                theirs.callback(os.close, fd)
            ours = []
            for number, is_input in enumerate((True, False, False)):
                reader, writer = os.pipe()
                their, our = (reader, writer) if is_input else (writer, reader)
                theirs.callback(os.close, their)
                given.insert(number, their)
                ours.append(undo.enter_context(os.fdopen(our, "wb" if is_input else "rb", buffering=0)))
            supervisor = ForkedSupervisor(self._fork(given), *ours)
            undo.pop_all()
        return supervisor

    def is_worth_trying(self, kind: str) -> bool:
        return self._failures.get(kind, 0) < MAX_FAILURES

    def note(self, kind: str, error: InfraError | None) -> None:
        """Remember how a start in this kind of sandbox went."""
        self._failures[kind] = 0 if error is None else self._failures.get(kind, 0) + 1
        if error is not None:
            self.why_not[kind] = str(error)

    def close(self) -> None:
        """End the server. Guests live on."""
        with self._lock:
            for server in (self._server, self._next):
                if server is not None:
                    server.close()
            self._server = self._next = None

    def _fork(self, fds: list[int]) -> int | None:
        problem: Exception | None = None
        with self._lock:
            for _ in range(TRIES):
                try:
                    self._server = self._current()
                    return self._server.fork(fds)
                except (OSError, InfraError) as error:
                    problem = error
                    if self._server is not None:
                        self._server.close()
                        self._server = None
        raise InfraError(f"{self._module} cannot fork a guest: {problem}") from problem

    def _current(self) -> "Server":
        if self._next is not None and (self._server is None or self._next.is_ready(0.0)):
            if self._server is not None:
                self._server.close()
            self._server, self._next = self._next, None
        if self._server is None:
            self._server = Server(self._module, gpu=self._gpu)
        if self._server.num_forks >= self._forks and self._next is None:
            self._next = Server(self._module, gpu=self._gpu)
        return self._server


class Server:
    """One run of a nursery's program."""

    def __init__(self, module: str, *, gpu: bool) -> None:
        """Start it; it imports meanwhile. Raises OSError."""
        self.num_forks = 0
        self._is_ready = False
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the server
        self._line, its_line = socket.socketpair()
        with its_line:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(its_line.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._words,
                pass_fds=(its_line.fileno(),),
                start_new_session=True,
                cwd="/",
                env=server_environment(gpu=gpu) | {MARK: "0" * MARK_DIGITS},
            )

    def is_ready(self, wait_s: float) -> bool:
        """Whether it has imported everything. Raises InfraError if it has died over it."""
        if not self._is_ready:
            self._is_ready = self._receive(wait_s) == READY
        return self._is_ready

    def fork(self, fds: list[int]) -> int | None:
        """A descriptor of the new process; None if it has ended at once. Raises OSError, InfraError."""
        if not self.is_ready(IMPORT_S):
            raise InfraError(f"it is not ready after {IMPORT_S:g} s")
        self.num_forks += 1
        socket.send_fds(self._line, [FORK], fds)
        received: list[int] = []
        if self._receive(FORK_S, received) != FORKED:
            raise InfraError(f"it does not answer within {FORK_S:g} s")
        return received[0] if received else None

    def close(self) -> None:
        self._line.close()
        self._words.close()
        self._process.kill()  # it holds nothing
        self._process.wait()

    def _receive(self, wait_s: float, fds: list[int] | None = None) -> bytes:
        """What it says; nothing if it is late. Raises InfraError if it is dead."""
        if not select.select([self._line], [], [], wait_s)[0]:
            return b""
        data, received, _, _ = socket.recv_fds(self._line, 1, 1)
        if fds is not None:
            fds += received
        if not data:
            raise InfraError(f"it died: {self._last_words()}")
        return data

    def _last_words(self) -> str:
        self._words.seek(0)
        lines = self._words.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


class ForkedSupervisor:
    """A warden, as the process holds it that asked for it: not a child, so known by a descriptor."""

    def __init__(self, pidfd: int | None, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]) -> None:
        self._pidfd = pidfd
        self.stdin: IO[bytes] | None = stdin
        self.stdout: IO[bytes] | None = stdout
        self.stderr: IO[bytes] | None = stderr

    def wait(self, timeout: float) -> None:
        if self._pidfd is None:
            return
        if not select.select([self._pidfd], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("warden", timeout)
        os.close(self._pidfd)
        self._pidfd = None

    def send_signal(self, signal: int) -> None:
        if self._pidfd is not None:
            with suppress(ProcessLookupError):
                pidfd_send_signal(self._pidfd, signal)

    def kill(self) -> None:
        self.send_signal(SIGKILL)


NURSERIES: dict[tuple[str, bool], Nursery] = {}


def start(
    command: Command,
    kind: str,
    forked: Callable[[Nursery, tuple[int, ...], dict[str, str]], Launch],
    started: Callable[[tuple[int, ...], dict[str, str]], Launch],
) -> TreeGuest:
    """A guest in this kind of sandbox: forked, if the command names a nursery and that works; else started.

    Raises:
        InfraError: it could not be started at all.
    """
    nursery = _nursery_of(command)
    if nursery is None or not nursery.is_worth_trying(kind):
        return TreeGuest(started)
    try:
        guest = TreeGuest(lambda fds, env: forked(nursery, fds, env))
    except InfraError as error:
        guest = TreeGuest(started)  # says what is wrong if it isn't the forking
        nursery.note(kind, error)
        return guest
    nursery.note(kind, None)
    return guest


def module_of(command: Command) -> str | None:
    """The module that it runs, if it is nothing but a run of one by this Python."""
    *python, module = command.argv
    return module if tuple(python) == (sys.executable, "-P", "-m") else None


def _nursery_of(command: Command) -> Nursery | None:
    if command.nursery is None or module_of(command) is None or not hasattr(os, "pidfd_open"):
        return None
    key = (command.nursery, command.gpu)
    if key not in NURSERIES or NURSERIES[key].owner != os.getpid():  # a fork of us has none of its own yet
        NURSERIES[key] = Nursery(command.nursery, gpu=command.gpu)
    return NURSERIES[key]


@atexit.register
def _close_all() -> None:
    for nursery in NURSERIES.values():
        if nursery.owner == os.getpid():
            nursery.close()
