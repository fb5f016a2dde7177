"""A process tree with everything that bounds it: started, awaited and killed as one thing."""

import marshal
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGCONT, SIGKILL
from typing import IO, TYPE_CHECKING, NamedTuple, Protocol

import psutil

from warpsmith.core import Command, Completed, Ending, InfraError, Limits
from warpsmith.sandbox.cgroup import pids_cgroup
from warpsmith.sandbox.pipes import Capture, LineReader, Silence, write_all
from warpsmith.sandbox.supervisor import (
    BY_DISK,
    BY_ITSELF,
    BY_MEMORY,
    BY_PROCESSES,
    BY_REQUEST,
    BY_TIME,
    KILL_S,
    remove_cgroup,
)

if TYPE_CHECKING:
    from warpsmith.sandbox.supervisor import Spec

# Imported rather than run by path, so that Python compiles it but once; and alone, without this package.
SUPERVISE = "import sys; sys.path.append(sys.argv[1]); import supervisor; supervisor.main(int(sys.argv[2]))"
START_S = 60.0
MARK = "WARPSMITH_TREE"
MARK_DIGITS = 16
REPORT_BYTES = 1 << 16


class Supervisor(Protocol):
    """The process that watches a tree, as its caller holds it. Closing `stdin` asks it to kill the tree."""

    @property
    def stdin(self) -> IO[bytes] | None: ...

    @property
    def stdout(self) -> IO[bytes] | None: ...

    @property
    def stderr(self) -> IO[bytes] | None: ...

    def wait(self, timeout: float) -> object:
        """Wait for its end. Raises subprocess.TimeoutExpired."""
        ...

    def send_signal(self, signal: int) -> None: ...

    def kill(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """What a guest needs that is forked from a process with its modules imported, and not started."""

    module: str  # `python -m` of it is what the fork goes on as
    holder: tuple[str, ...] = ()  # a bubblewrap to run, whose namespaces it joins


@dataclass(kw_only=True)
class Launch:
    """What to start, once a sandbox has translated a Command."""

    argv: tuple[str, ...]
    cwd: Path
    env: dict[str, str]
    limits: Limits
    wall_s: float | None = None  # where nobody waits for its end
    writable: tuple[Path, ...] = ()  # folders whose growth is limited
    own_processes: int = 0  # the sandbox's, beyond the program's
    fds: tuple[int, ...] = ()  # that the program inherits; ours are closed once it runs
    no_new_privileges: bool = True
    syscalls: bytes = b""  # a filter of system calls, for the program as it is started
    resources: ExitStack = field(default_factory=ExitStack)  # closed when the tree is gone
    start: Callable[[int, tuple[int, ...]], Supervisor] | None = None  # where not as a child of ours
    fork: Fork | None = None  # where `start` forks the program, whatever argv
    read_end: Callable[[Completed], Completed] = lambda completed: completed  # may raise InfraError


class ProcessTree:
    """A running program and all its descendants. `end` must be called; it leaves none of them."""

    def __init__(self, launch: Launch) -> None:
        """Start it. The launch's `fds` and `resources` are taken over, and closed if this fails.

        Raises:
            InfraError: it could not be started.
        """
        self._launch = launch
        self._mark = secrets.token_hex(MARK_DIGITS // 2)
        self._completed: Completed | None = None
        self.note = ""  # why we ended it, if we did; also at the end of its standard error
        self._last_words: bytes | Silence | None = None
        reader, writer = os.pipe()
        self._report_fd = reader
        self._report = LineReader(reader, REPORT_BYTES)
        with ExitStack() as undo:
            undo.enter_context(launch.resources)
            undo.callback(self._report.close)
            self._supervisor = (launch.start or _start_supervisor)(writer, launch.fds)
            undo.callback(self._stop)
            self._control, stdout, stderr = _streams(self._supervisor)
            self.stdout = Capture(stdout, launch.limits.output_bytes)
            self.stderr = Capture(stderr, launch.limits.output_bytes)
            self._hand_over()
            undo.pop_all()
        self.started_s = time.monotonic()

    @property
    def ended_fd(self) -> int:
        """A descriptor that becomes readable when the whole tree is gone, or its supervisor is."""
        return self._report_fd

    def has_ended(self, deadline: float) -> bool:
        """Whether the whole tree is gone before `deadline` (monotonic)."""
        if self._last_words is None:
            words = self._report.line(deadline)
            self._last_words = None if words is Silence.LATE else words
        return self._last_words is not None

    def end(self, why: Ending | None = None, note: str = "") -> Completed:
        """Kill what still lives and say how it ended: `why` and `note`, if it was still alive.

        Raises:
            InfraError: the sandbox failed, and the program never ran; later calls say how that looked.
        """
        if self._completed is None:
            with self._launch.resources:
                self._completed = self._end(why, note)
                self._completed = self._launch.read_end(self._completed)
        return self._completed

    def _hand_over(self) -> None:
        os.set_blocking(self._control.fileno(), False)
        deadline = time.monotonic() + START_S
        spec = marshal.dumps(dict(self._spec()))
        message = b"%d\n" % len(spec) + spec
        first = write_all(self._control.fileno(), message, deadline) or self._report.line(deadline)
        if first != b"ready":
            error = first.value if isinstance(first, Silence) else first.decode().removeprefix("error ")
            raise InfraError(f"cannot start {self._launch.argv[0]} in {self._launch.cwd}: {error}")

    def _spec(self) -> "Spec":
        launch = self._launch
        limits = launch.limits
        fork = launch.fork or Fork(module="")
        return {
            "argv": launch.argv,
            "cwd": str(launch.cwd),
            "env": launch.env | {MARK: self._mark},
            "fds": launch.fds,
            "wall_s": launch.wall_s,
            "memory_bytes": limits.memory_bytes,
            "file_bytes": limits.file_bytes,
            "disk_bytes": limits.disk_bytes,
            "disk_folders": _outermost(launch.writable),
            "processes": limits.processes + launch.own_processes,
            "cgroup": pids_cgroup(self._mark),
            "no_new_privileges": launch.no_new_privileges,
            "mark": f"{MARK}={self._mark}".encode(),
            "module": fork.module,
            "holder": fork.holder,
            "syscalls": launch.syscalls,
        }

    def _end(self, why: Ending | None, note: str) -> Completed:
        self._control.close()  # asks the supervisor to kill
        self._supervisor.send_signal(SIGCONT)  # a program of the same user may have stopped it
        if not self.has_ended(time.monotonic() + 2 * KILL_S):
            self._supervisor.kill()
        wall_s = time.monotonic() - self.started_s
        exit_code, reason, _ = _parse(self._last_words)
        ending = Ending.SIGNALLED if exit_code < 0 else Ending.EXITED
        if reason in REASONS:
            ending, note = REASONS[reason]
        elif reason == BY_REQUEST:
            ending = why or ending
        else:
            note = ""
        self._stop()
        self._report.close()
        stdout, stderr = self.stdout.text(wait_s=KILL_S), self.stderr.text(wait_s=KILL_S)
        self.note = f"\n[warpsmith: {note.format(limits=self._launch.limits)}]\n" if note else ""
        return Completed(
            ending=ending, exit_code=exit_code, stdout=stdout, stderr=stderr + self.note, wall_s=wall_s
        )

    def _stop(self) -> None:
        """Make sure that neither the supervisor nor anything that it should have killed is left."""
        self._control.close()
        try:
            self._supervisor.wait(2 * KILL_S)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait(KILL_S)
        if not _parse(self._last_words).is_whole:
            _kill_marked(self._mark)
            remove_cgroup(pids_cgroup(self._mark))


KILLED_SUPERVISOR = "silence"
REASONS = {
    BY_TIME: (Ending.TIMED_OUT, "killed after {limits.wall_s:g} s"),
    BY_MEMORY: (Ending.OUT_OF_MEMORY, "killed: more than {limits.memory_bytes} bytes of memory"),
    BY_PROCESSES: (Ending.SIGNALLED, "killed: more than {limits.processes} processes"),
    BY_DISK: (Ending.SIGNALLED, "killed: more than {limits.disk_bytes} bytes written to its folders"),
    # Only a program of the same user, or a machine out of memory, does this.
    KILLED_SUPERVISOR: (Ending.SIGNALLED, "killed with the process that supervised it"),
}


class LastWords(NamedTuple):
    """What a supervisor said at the end."""

    exit_code: int
    reason: str
    is_whole: bool  # whether it answers for every process of the tree


def _parse(words: bytes | Silence | None) -> LastWords:
    match words.split() if isinstance(words, bytes) else ():
        case [b"end", status, reason, adopts] if reason.decode() in (BY_ITSELF, BY_REQUEST, *REASONS):
            return LastWords(os.waitstatus_to_exitcode(int(status)), reason.decode(), adopts == b"1")
    return LastWords(-SIGKILL, KILLED_SUPERVISOR, is_whole=False)


def _outermost(folders: tuple[Path, ...]) -> tuple[str, ...]:
    real = {folder.resolve() for folder in folders}
    return tuple(str(folder) for folder in sorted(real) if real.isdisjoint(folder.parents))


def run_to_end(launch: Launch) -> Completed:
    """Start, wait for the wall limit at most, and leave nothing behind, whatever happens to us meanwhile."""
    tree = ProcessTree(launch)
    try:
        is_late = not tree.has_ended(tree.started_s + launch.limits.wall_s)
    except BaseException:
        tree.end()
        raise
    return tree.end(Ending.TIMED_OUT, f"killed after {launch.limits.wall_s:g} s") if is_late else tree.end()


def check_folder(command: Command) -> None:
    """Raises InfraError if the command's current folder is none."""
    if not command.cwd.is_dir():
        raise InfraError(f"{command.cwd} is no folder; {command.argv[0]} cannot be started there")


def _start_supervisor(report: int, fds: tuple[int, ...]) -> Supervisor:
    """Start it; `report` and `fds` are its own from here on."""
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", SUPERVISE, str(Path(__file__).parent), str(report)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            pass_fds=(report, *fds),
            start_new_session=True,
            cwd="/",
            # A candidate of the same user can read it in /proc: no secrets. Python may need its libraries.
            env={name: os.environ[name] for name in ("LD_LIBRARY_PATH", "PYTHONHOME") if name in os.environ},
        )
    except OSError as error:
        raise InfraError(f"cannot start any process: {error}; is a limit of this user reached?") from error
    finally:
        for fd in (report, *fds):
            os.close(fd)


def _streams(process: Supervisor) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdin, process.stdout, process.stderr


def _kill_marked(mark: str) -> None:
    """Kill what the supervisor left behind, as far as it still carries the mark in its environment."""
    give_up_s = time.monotonic() + KILL_S
    while (marked := _marked(mark)) and time.monotonic() < give_up_s:  # one may have forked while we looked
        for process in marked:
            with suppress(psutil.Error):
                process.kill()


def _marked(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                found.append(process)
    return found
