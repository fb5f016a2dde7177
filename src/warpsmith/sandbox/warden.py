"""The forked side of a nursery: a server that has imported what guests import, and what a fork of it becomes.

The server is trusted and never runs anything of a candidate's. Each fork becomes a guest's warden, which does
what the supervisor of a started program does, and in turn forks the guest. In bubblewrap's case the warden
runs bubblewrap around an inert program (`cat`, whose input is a lifeline) and the guest joins the namespaces
made for it: killing bubblewrap kills all that is in them. Between joining and the guest's first own line all
capabilities go, system calls are filtered, and every open file but its own is closed.
"""

import ctypes
import fcntl
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from warpsmith.sandbox.supervisor import (
    bound,
    enter_cgroup,
    filter_calls,
    fork,
    prctl,
    read_error,
    read_spec,
    supervise,
)

if TYPE_CHECKING:
    from warpsmith.sandbox.supervisor import Spec

READY, FORK, FORKED = b"r", b"f", b"k"
MAX_FDS = 32
HOLDER_S = 30.0  # for bubblewrap to set up its namespaces
# Words of a holder's arguments that become numbers of files: its status pipe, and its filter of system calls.
STATUS_FD: Final = "{status}"
FILTER_FD: Final = "{filter}"

PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_CAP_AMBIENT = 4, 24, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAPABILITY_VERSION_3 = 0x20080522
NS_GET_USERNS = 0xB701  # _IO(0xb7, 1)
NAMESPACES = ("ipc", "uts", "net", "cgroup", "pid", "mnt")


def serve(awaken: Callable[[], None]) -> NoReturn:
    """Fork a warden at each request on the socket that argv names, till the other side closes.

    `awaken` is called in each guest before its own code.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel collects the wardens
    line = socket.socket(fileno=int(sys.argv[1]))
    line.sendall(READY)
    while True:
        request, fds, _, _ = socket.recv_fds(line, 1, MAX_FDS)
        if not request:
            os._exit(0)
        warden = os.fork()
        if warden == 0:
            _ward(fds, awaken)
        _answer(line, warden)
        for fd in fds:
            os.close(fd)


def _answer(line: socket.socket, warden: int) -> None:
    """Hand over a descriptor of the warden, or none if it has ended already."""
    try:
        pidfd = os.pidfd_open(warden)
    except OSError:
        line.sendall(FORKED)
        return
    socket.send_fds(line, [FORKED], [pidfd])
    os.close(pidfd)


def _ward(fds: list[int], awaken: Callable[[], None]) -> NoReturn:
    """Be the warden of a guest: `fds` are control, stdout, stderr, report and those the guest inherits."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        spec = read_spec(fds[0])
        _write_mark(spec["mark"])
        report = _arrange(fds, spec["fds"])
        start = _start_inside if spec["holder"] else _start_plain
        supervise(spec, report, 0, lambda spec, limits: start(spec, limits, awaken))
    except BaseException:  # noqa: BLE001 - the caller must see it, and the server must not go on here
        traceback.print_exc()
    finally:
        os._exit(0)


def _write_mark(mark: bytes) -> None:
    """Write it over the server's own, in the memory that /proc/PID/environ shows of us and our children."""
    name, _, value = mark.partition(b"=")
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_void_p
    address = getenv(name)
    if address is not None and len(ctypes.string_at(address)) == len(value):
        ctypes.memmove(address, value, len(value))


def _arrange(fds: list[int], inherited: tuple[int, ...]) -> int:
    """Give each its number: control 0, stdout 1, stderr 2, and `inherited`; the report's is returned.

    All else is closed.
    """
    wanted = (0, 1, 2, *inherited)
    aside = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, max(wanted) + 1) for fd in fds]
    report = aside.pop(3)
    _close_all_but({report, *aside})
    for fd, number in zip(aside, wanted, strict=True):
        os.dup2(fd, number, inheritable=False)  # not by a bubblewrap
        os.close(fd)
    return report


def _close_all_but(kept: set[int]) -> None:
    for fd in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        if fd not in kept:
            with suppress(OSError):  # the one that listed them is closed by now
                os.close(fd)


def _start_plain(spec: "Spec", limits: dict[int, int], awaken: Callable[[], None]) -> tuple[int, str]:
    def become() -> None:
        enter_cgroup(spec)
        bound(spec, limits)
        _go_on(spec, writer, awaken)

    reader, writer = os.pipe()
    child = fork(become, writer)
    os.close(writer)
    return child, read_error(reader)


def _start_inside(spec: "Spec", limits: dict[int, int], awaken: Callable[[], None]) -> tuple[int, str]:
    """The same, in the namespaces of a holder.

    In between stands a process that joins them, for only its children are in the namespace of processes; when
    it ends they become children of ours.
    """
    try:
        holder = _start_holder(spec["holder"], spec["syscalls"])
    except OSError as error:
        return -1, str(error)

    def become() -> None:
        os.close(go)
        if not os.read(may_go, 1):
            os._exit(127)
        _drop_capabilities()
        prctl(PR_SET_DUMPABLE, 1)  # joining took it away, and with it /proc/self
        bound(spec, limits)
        _go_on(spec, writer, awaken)

    def join() -> None:
        enter_cgroup(spec)
        _join(holder)
        os.write(writer, b"%d" % fork(become, writer))
        os._exit(0)

    reader, writer = os.pipe()
    may_go, go = os.pipe()
    joiner = fork(join, writer)
    said = os.read(reader, 4096).decode(errors="replace")
    os.waitpid(joiner, 0)
    for fd in (writer, may_go):
        os.close(fd)
    if said.isdigit():
        os.write(go, b"x")
    os.close(go)
    rest = read_error(reader)
    return (int(said), rest) if said.isdigit() else (-1, said or "could not join the namespaces")


def file_of(data: bytes) -> int:
    """A file in memory that holds `data`, at its beginning."""
    fd = os.memfd_create("warpsmith")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _start_holder(arguments: tuple[str, ...], syscalls: bytes) -> int:
    """Run bubblewrap; the number of the first process in its namespaces. Raises OSError if it fails.

    The writing end of its input stays open, and is its lifeline, and the one of everything in there.
    """
    its_input, lifeline = os.pipe()
    output, its_output = os.pipe()
    status, its_status = os.pipe()
    its_filter = file_of(syscalls)
    numbers = {STATUS_FD: str(its_status), FILTER_FD: str(its_filter)}
    for fd in (its_status, its_filter):
        os.set_inheritable(fd, True)  # noqa: FBT003 - it takes no keyword
    os.posix_spawn(
        arguments[0],
        [numbers.get(word, word) for word in arguments],
        {},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate((its_input, its_output, its_output))
        ],
        setsigdef=[signal.SIGPIPE],
    )
    for fd in (its_input, its_output, its_status, its_filter):
        os.close(fd)
    os.write(lifeline, b"ready\n")
    poller = select.poll()
    poller.register(output, select.POLLIN)
    said = os.read(output, 4096) if poller.poll(HOLDER_S * 1000) else b"it does not start"
    if said != b"ready\n":
        raise OSError(f"bubblewrap: {said.decode(errors='replace').strip()}")
    words = os.read(status, 4096).partition(b'"child-pid":')[2].replace(b",", b" ").split()
    os.close(output)
    os.close(status)
    return int(words[0])


def _join(pid: int) -> None:
    """Enter the namespaces of `pid`, those of them that are not ours. Raises OSError."""
    files = {name: os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY) for name in (*NAMESPACES, "user")}
    own = {name: Path("/proc/self/ns", name).stat().st_ino for name in files}
    # They belong to a namespace of users that need not be the one that its processes are in; there alone do
    # we have the capabilities to enter them.
    owner = fcntl.ioctl(files["mnt"], NS_GET_USERNS)
    for name, fd in (("user", owner), *((name, files[name]) for name in NAMESPACES), ("user", files["user"])):
        inode = os.fstat(fd).st_ino
        if inode != own[name]:
            _setns(fd, name)
            own[name] = inode


def _setns(fd: int, name: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(fd, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"cannot join a namespace ({name}): {os.strerror(error)}")


def _drop_capabilities() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # there are no more
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    if libc.capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise OSError(ctypes.get_errno(), "cannot drop capabilities")


def _go_on(spec: "Spec", writer: int, awaken: Callable[[], None]) -> NoReturn:
    """Be the guest. `writer` tells that all went well by being closed."""
    _close_all_but({0, 1, 2, writer, *spec["fds"]})
    for fd in (0, 1, 2, *spec["fds"]):
        os.set_inheritable(fd, True)  # noqa: FBT003 - it takes no keyword
    filter_calls(spec["syscalls"])
    os.environ.clear()
    os.environ.update(spec["env"])
    sys.argv = [spec["module"]]
    tempfile.tempdir = None  # found out by the server, in another environment
    awaken()
    os.close(writer)
    _run(spec["module"])


def _run(module: str) -> NoReturn:
    code = 1
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = _exit_code(end.code)
    except BaseException:  # noqa: BLE001 - as at the end of any Python program
        traceback.print_exc()
    finally:
        with suppress(Exception):  # a candidate may have put anything there
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 255
    sys.stderr.write(f"{code}\n")
    return 1
