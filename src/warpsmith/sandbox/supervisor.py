"""The small program between us and what we run: starts it, bounds it, and leaves nothing of it behind.

It is a Python of its own (`python -I -S`), whose start is paid for by every command, some 25 ms, so it
imports little: json, pathlib, typing or signal would double that. As a process of its own it can do what
`preexec_fn` cannot do safely in a program with threads; and as a "child subreaper" it inherits every orphan
of the tree, so that a daemon that forked twice and changed its session is found and killed too.

Standard input: the length of a marshalled `Spec` in a line, the `Spec`, and from then on a lifeline: when it
closes, the tree is killed, so nothing survives our caller. The report gets two lines: `ready` or `error WHY`,
and then `end WAIT_STATUS REASON`. Any exit code but zero means that orphans may be left.
"""

from __future__ import annotations  # Spec exists for the type checker alone

import ctypes
import marshal
import os
import resource
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    class Spec(TypedDict):
        """What to run, and its bounds."""

        argv: tuple[str, ...]
        cwd: str
        env: dict[str, str]
        fds: tuple[int, ...]  # that the program inherits, beside standard output and error
        memory_bytes: int | None
        file_bytes: int
        processes: int
        no_new_privileges: bool  # False where the program itself may be a setuid sandbox


PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 36, 38
SIGKILL, SIGPIPE, SIGXFSZ = 9, 13, 25
TICK_S = 0.05
KILL_S = 10.0
OPEN_FILES = 4096
TASKS_A_PROCESS = 8  # RLIMIT_NPROC counts threads; it is the backstop, the count of processes is the limit
BY_ITSELF, BY_REQUEST, BY_MEMORY, BY_PROCESSES = "itself", "request", "memory", "processes"


def main(report_fd: int) -> None:
    report = os.dup(report_fd)  # a copy is not inherited further
    os.close(report_fd)
    spec = _read_spec()
    adopts_orphans = _prctl(PR_SET_CHILD_SUBREAPER, 1) == 0  # older gVisors don't
    child, error = _start(spec)
    os.write(report, f"error {error}\n".encode() if error else b"ready\n")
    for fd in spec["fds"]:
        os.close(fd)
    if not error:
        status, reason = _watch(spec, child)
        os.write(report, f"end {status} {reason}\n".encode())
    sys.exit(not adopts_orphans)


def _read_spec() -> Spec:
    data = _read_until(lambda data: b"\n" in data, b"")
    length, rest = data.split(b"\n", 1)
    spec: Spec = marshal.loads(_read_until(lambda data: len(data) >= int(length), rest))
    return spec


def _read_until(is_enough: Callable[[bytes], bool], data: bytes) -> bytes:
    while not is_enough(data):
        chunk = os.read(0, 1 << 16)
        if not chunk:
            raise SystemExit("the caller went away")
        data += chunk
    return data


def _prctl(option: int, value: int) -> int:
    """Zero if the kernel did it."""
    return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0))


def _start(spec: Spec) -> tuple[int, str]:
    """The child's pid, and why it could not become the program, if so."""
    limits = _limits(spec)
    reader, writer = os.pipe()  # closes by itself when the program starts
    child = os.fork()
    if child == 0:
        try:
            _become(spec, limits)
        except (OSError, ValueError) as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(127)
    os.close(writer)
    error_text = os.read(reader, 4096).decode(errors="replace")
    os.close(reader)
    return child, " ".join(error_text.split())


def _limits(spec: Spec) -> dict[int, int]:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: spec["file_bytes"],
        resource.RLIMIT_NOFILE: OPEN_FILES,
    }
    if os.getuid() != 0:  # the kernel exempts root
        limits[resource.RLIMIT_NPROC] = _tasks_of(os.getuid()) + spec["processes"] * TASKS_A_PROCESS
    return limits


def _become(spec: Spec, limits: dict[int, int]) -> None:
    """Turn this process into the program. Raises OSError if it can't."""
    os.setsid()
    _prctl(PR_SET_PDEATHSIG, SIGKILL)
    if spec["no_new_privileges"]:
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
    for number in (SIGPIPE, SIGXFSZ):  # Python ignores them, and what is ignored is inherited
        ctypes.CDLL(None).signal(number, None)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _prefer_when_out_of_memory()
    os.chdir(spec["cwd"])
    for kind, bound in limits.items():
        hard = resource.getrlimit(kind)[1]
        bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(kind, (bound, bound))
    os.execvpe(spec["argv"][0], spec["argv"], spec["env"])


def _prefer_when_out_of_memory() -> None:
    """If the machine itself runs out of memory, the kernel is to kill the program and not us."""
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(fd, b"500")
        os.close(fd)
    except OSError:  # not every kernel lets us; it is a favour, no bound
        return


def _watch(spec: Spec, child: int) -> tuple[int, str]:
    """Wait for the program's end or a reason to end it; kill what is left; its wait status and the reason."""
    events = select.poll()
    events.register(0, select.POLLIN)
    _register_end(events, child)
    reason, pause_s = "", TICK_S
    status = _reap(child)
    while status is None and not reason:
        if any(fd == 0 for fd, _ in events.poll(pause_s * 1000)):
            reason = BY_REQUEST
        status = _reap(child)
        if status is None and not reason:
            began_s = time.monotonic()
            reason = _excess(spec)
            pause_s = max(
                TICK_S, 10 * (time.monotonic() - began_s)
            )  # looking at a large tree must not eat a core
    last = _kill_all(child)
    if status is not None:
        return status, BY_ITSELF
    return SIGKILL if last is None else last, reason


def _register_end(events: select.poll, child: int) -> None:
    try:
        events.register(os.pidfd_open(child), select.POLLIN)
    except OSError:  # an older kernel: its end is seen at the next tick
        return


def _reap(child: int) -> int | None:
    """Collect every process that has ended; the wait status of `child` if it is among them."""
    found = None
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return found
            if pid == child:
                found = status
    except ChildProcessError:
        return found


def _kill_all(child: int) -> int | None:
    """Kill until no descendant is left; the wait status of `child` if it ended only now."""
    found = None
    give_up_s = time.monotonic() + KILL_S
    while time.monotonic() < give_up_s:
        for pid in _descendants():
            _kill(pid)
        status = _reap(child)
        found = status if status is not None else found
        if not _has_children():
            break
        time.sleep(TICK_S / 20)
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, SIGKILL)
    except ProcessLookupError:
        return


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _excess(spec: Spec) -> str:
    """The limit that the tree exceeds, or nothing."""
    tree = _descendants()
    if len(tree) > spec["processes"]:
        return BY_PROCESSES
    bound = spec["memory_bytes"]
    if bound is None or sum(map(_resident_bytes, tree)) <= bound:
        return ""
    # Pages that processes share were counted once for each; the kernel's exact count costs more.
    return BY_MEMORY if sum(map(_proportional_bytes, tree)) > bound else ""


def _descendants() -> list[int]:
    """Every process below this one, the dead that nobody has collected included."""
    me = os.getpid()
    children = (
        _listed_children if os.access(f"/proc/{me}/task/{me}/children", os.R_OK) else _searched_children()
    )
    found: list[int] = []
    queue = [me]
    while queue:
        new = children(queue.pop())
        found += new
        queue += new
    return found


def _listed_children(pid: int) -> list[int]:
    return [int(word) for task in _tasks(pid) for word in _read(f"{task}/children").split()]


def _searched_children() -> Callable[[int], list[int]]:
    """The same where the kernel keeps no such list, from one look at every process of the machine."""
    children: dict[int, list[int]] = {}
    for pid in _processes():
        fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if fields:
            children.setdefault(int(fields[1]), []).append(pid)
    return lambda pid: children.get(pid, [])


def _tasks(pid: int) -> list[str]:
    """The folders of a process's threads; none if it has just ended."""
    try:
        return [task.path for task in os.scandir(f"/proc/{pid}/task")]
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


def _read(path: str) -> str:
    """A small file's text; nothing if it went away or is not ours to read."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""
    try:
        return os.read(fd, 1 << 16).decode(errors="replace")
    except (ProcessLookupError, PermissionError):
        return ""
    finally:
        os.close(fd)


def _resident_bytes(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * resource.getpagesize() if fields else 0


def _proportional_bytes(pid: int) -> int:
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) << 10
    return _resident_bytes(pid)


def _tasks_of(user: int) -> int:
    """How many threads `user` has now, over all processes of the machine."""
    return sum(len(_tasks(pid)) for pid in _processes() if _user_of(pid) == user)


def _processes() -> list[int]:
    return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]


def _user_of(pid: int) -> int | None:
    """The real user; None if it has just ended."""
    lines = [line for line in _read(f"/proc/{pid}/status").splitlines() if line.startswith("Uid:")]
    return int(lines[0].split()[1]) if lines else None
