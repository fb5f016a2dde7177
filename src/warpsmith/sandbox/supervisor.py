"""The small program between us and what we run: starts it, bounds it, and leaves nothing of it behind.

It is a Python of its own (`python -I -S`), whose start is paid for by every command, some 25 ms, so it
imports little: json, pathlib, typing or signal would double that. As a process of its own it can do what
`preexec_fn` cannot do safely in a program with threads; and as a "child subreaper" it inherits every orphan
of the tree, so that a daemon that forked twice and changed its session is found and killed too.
A guest that is forked rather than started has the same thing above it (`warden`).

Standard input: the length of a marshalled `Spec` in a line, the `Spec`, and from then on a lifeline: when it
closes, the tree is killed, so nothing survives our caller. The report gets two lines: `ready` or `error WHY`,
and then `end WAIT_STATUS REASON ADOPTS`. Without the second line, or with ADOPTS 0, orphans may be left.
"""

from __future__ import annotations  # Spec exists for the type checker alone

import ctypes
import marshal
import os
import resource
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypedDict

    class Spec(TypedDict):
        """What to run, and its bounds."""

        argv: tuple[str, ...]
        cwd: str
        env: dict[str, str]
        fds: tuple[int, ...]  # that the program inherits, beside standard output and error
        wall_s: float | None  # None: whoever waits for it keeps the time
        memory_bytes: int | None
        file_bytes: int
        disk_bytes: int
        disk_folders: tuple[str, ...]  # where it may write
        processes: int
        cgroup: str  # the folder of a control group to make, that limits tasks; none if empty
        no_new_privileges: bool  # False where the program itself may be a setuid sandbox
        syscalls: bytes  # a filter of system calls; none if empty
        # Of a forked guest alone:
        mark: bytes  # what is to stand where a process's environment is read from outside
        module: str  # `python -m` of it is what the fork goes on as
        holder: tuple[str, ...]  # a bubblewrap to run, whose namespaces it joins; none if empty

    Starter = Callable[[Spec, "dict[int, int]"], "tuple[int, str]"]


PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 22, 36, 38
SECCOMP_MODE_FILTER = 2
BPF_BYTES = 8  # an instruction of a filter
SIGKILL, SIGPIPE, SIGXFSZ = 9, 13, 25
TICK_S = 0.05
DISK_TICK_S = 0.25
LEAST_BYTES = 4096  # that a file counts with: of empty ones, too, a disk holds only so many
KILL_S = 10.0
OPEN_FILES = 4096
TASKS_A_PROCESS = (
    8  # the kernel's own limits count threads; they are the backstop, the count of processes is ours
)
BY_ITSELF, BY_REQUEST = "itself", "request"
BY_TIME, BY_MEMORY, BY_PROCESSES, BY_DISK = "time", "memory", "processes", "disk"


def main(report_fd: int) -> None:
    report = os.dup(report_fd)  # a copy is not inherited further
    os.close(report_fd)
    supervise(read_spec(0), report, 0, start_program)


def supervise(spec: Spec, report: int, lifeline: int, start: Starter) -> None:
    """Start the program as `start` does it, and watch it to its end."""
    adopts_orphans = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0  # older gVisors don't
    limits = _limits(spec)
    used = used_bytes(spec["disk_folders"])
    _make_cgroup(spec)
    child, error = start(spec, limits)
    os.write(report, f"error {error}\n".encode() if error else b"ready\n")
    for fd in spec["fds"]:
        os.close(fd)
    status, reason = (0, "") if error else _watch(spec, child, lifeline, used)
    if error:
        _kill_all(child)
    if spec["cgroup"]:
        remove_cgroup(spec["cgroup"])
    if not error:
        os.write(report, f"end {status} {reason} {int(adopts_orphans)}\n".encode())


def read_spec(fd: int) -> Spec:
    data = _read_until(fd, lambda data: b"\n" in data, b"")
    length, rest = data.split(b"\n", 1)
    spec: Spec = marshal.loads(_read_until(fd, lambda data: len(data) >= int(length), rest))
    return spec


def _read_until(fd: int, is_enough: Callable[[bytes], bool], data: bytes) -> bytes:
    while not is_enough(data):
        chunk = os.read(fd, 1 << 16)
        if not chunk:
            raise SystemExit("the caller went away")
        data += chunk
    return data


def prctl(option: int, value: int) -> int:
    """Zero if the kernel did it."""
    return int(ctypes.CDLL(None).prctl(option, value, 0, 0, 0))


def start_program(spec: Spec, limits: dict[int, int]) -> tuple[int, str]:
    """The child's pid, and why it could not become the program, if so."""

    def become() -> None:
        enter_cgroup(spec)
        bound(spec, limits)
        filter_calls(spec["syscalls"])
        os.execvpe(spec["argv"][0], spec["argv"], spec["env"])

    reader, writer = os.pipe()  # closes by itself when the program starts
    child = fork(become, writer)
    os.close(writer)
    error = read_error(reader)
    return child, error


def fork(become: Callable[[], None], writer: int) -> int:
    """A child that calls `become`, which does not return, or writes why it failed."""
    child = os.fork()
    if child == 0:
        try:
            become()
        except (OSError, ValueError) as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(127)
    return child


def read_error(reader: int) -> str:
    """What a child wrote until it closed the pipe: nothing, or why it failed."""
    text = os.read(reader, 4096).decode(errors="replace")
    os.close(reader)
    return " ".join(text.split())


def _limits(spec: Spec) -> dict[int, int]:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: spec["file_bytes"],
        resource.RLIMIT_NOFILE: OPEN_FILES,
    }
    if os.getuid() != 0:  # the kernel exempts root
        limits[resource.RLIMIT_NPROC] = _tasks_of(os.getuid()) + _most_tasks(spec)
    return limits


def _most_tasks(spec: Spec) -> int:
    """Far more threads than an honest program of so many processes has."""
    return spec["processes"] * TASKS_A_PROCESS + 4 * (os.cpu_count() or 1)


def _make_cgroup(spec: Spec) -> None:
    """A new group that can hold so many tasks and no more; it binds root too."""
    if spec["cgroup"]:
        try:
            os.mkdir(spec["cgroup"])  # noqa: PTH102 - pathlib would slow the start
            _write(f"{spec['cgroup']}/pids.max", b"%d" % _most_tasks(spec))
        except OSError:  # a backstop, as above; the count of processes is the limit
            spec["cgroup"] = ""


def enter_cgroup(spec: Spec) -> None:
    """Put this process, a child of the supervisor's, into the group, if one was made."""
    if spec["cgroup"]:
        try:
            _write(f"{spec['cgroup']}/cgroup.procs", b"0")
        except OSError:  # where one may make groups but not move into them
            return


def remove_cgroup(folder: str) -> None:
    """Remove a group whose members are dead or dying."""
    give_up_s = time.monotonic() + KILL_S
    while time.monotonic() < give_up_s:
        try:
            os.rmdir(folder)  # noqa: PTH106 - pathlib would slow the start
        except FileNotFoundError:
            return
        except OSError:  # the dead are in it until someone has collected them
            time.sleep(TICK_S / 10)
        else:
            return


def _write(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def bound(spec: Spec, limits: dict[int, int]) -> None:
    """Put this process, a child of the supervisor's, into its session, folder and limits. Raises OSError."""
    os.setsid()
    prctl(PR_SET_PDEATHSIG, SIGKILL)
    if spec["no_new_privileges"]:
        prctl(PR_SET_NO_NEW_PRIVS, 1)
    for number in (SIGPIPE, SIGXFSZ):  # Python ignores them, and what is ignored is inherited
        ctypes.CDLL(None).signal(number, None)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    _prefer_when_out_of_memory()
    os.chdir(spec["cwd"])
    for kind, value in limits.items():
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


class _SockFprog(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def filter_calls(program: bytes) -> None:
    """Let the kernel refuse this process some system calls; it can't get new privileges. Raises OSError."""
    if not program:
        return
    filters = _SockFprog(len(program) // BPF_BYTES, program)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filters), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot filter system calls")


def _prefer_when_out_of_memory() -> None:
    """If the machine itself runs out of memory, the kernel is to kill the program and not us."""
    try:
        _write("/proc/self/oom_score_adj", b"500")
    except OSError:  # not every kernel lets us; it is a favour, no bound
        return


def _watch(spec: Spec, child: int, lifeline: int, used: int) -> tuple[int, str]:
    """Wait for the program's end or a reason to end it; kill what is left; its wait status and the reason."""
    events = select.poll()
    events.register(lifeline, select.POLLIN)
    _register_end(events, child)
    looks = (_Look(TICK_S, lambda: _excess(spec)), _Look(DISK_TICK_S, lambda: _excess_on_disk(spec, used)))
    give_up_s = None if spec["wall_s"] is None else time.monotonic() + spec["wall_s"]
    reason = ""
    status = _reap(child)
    while status is None and not reason:
        if any(fd == lifeline for fd, _ in events.poll(TICK_S * 1000)):
            reason = BY_REQUEST
        status = _reap(child)
        if status is None and give_up_s is not None and time.monotonic() > give_up_s:
            reason = reason or BY_TIME
        for look in looks:
            if status is None and not reason:
                reason = look()
    last = _kill_all(child)
    if status is not None:
        return status, BY_ITSELF
    return SIGKILL if last is None else last, reason


class _Look:
    """A look for a reason to end the program, at most every `tick_s`, and so that it does not eat a core."""

    def __init__(self, tick_s: float, find: Callable[[], str]) -> None:
        self._tick_s = tick_s
        self._find = find
        self._next_s = 0.0

    def __call__(self) -> str:
        began_s = time.monotonic()
        if began_s < self._next_s:
            return ""
        reason = self._find()
        ended_s = time.monotonic()
        self._next_s = max(began_s + 0.9 * self._tick_s, ended_s + 10 * (ended_s - began_s))
        return reason


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


def _excess_on_disk(spec: Spec, used: int) -> str:
    used_now = used_bytes(spec["disk_folders"]) + _unlinked_bytes()
    return BY_DISK if used_now - used > spec["disk_bytes"] else ""


def used_bytes(folders: Iterable[str]) -> int:
    """What all files below take of the disk."""
    total, queue = 0, list(folders)
    while queue:
        try:
            entries = list(os.scandir(queue.pop()))
        except OSError:  # it is a file, has gone, or is not ours to read
            continue
        for entry in entries:
            try:
                total += max(entry.stat(follow_symlinks=False).st_blocks * 512, LEAST_BYTES)
                if entry.is_dir(follow_symlinks=False):
                    queue.append(entry.path)
            except OSError:
                continue
    return total


def _unlinked_bytes() -> int:
    """What the tree keeps open of files that have no name any more."""
    found: dict[tuple[int, int], int] = {}
    for pid in _descendants():
        for path in _entries(f"/proc/{pid}/fd"):
            try:
                status = os.stat(path)  # noqa: PTH116 - pathlib would slow the start
            except OSError:
                continue
            if status.st_nlink == 0 and status.st_mode & 0o170000 == 0o100000:
                found[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(found.values())


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
    return _entries(f"/proc/{pid}/task")


def _entries(folder: str) -> list[str]:
    """The paths in a folder of /proc; none if its process has just ended or is not ours to look into."""
    try:
        return [entry.path for entry in os.scandir(folder)]
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
