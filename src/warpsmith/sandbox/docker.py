"""A program in a container: an engine that speaks Docker's protocol keeps it apart.

The image is empty. The container sees what bubblewrap's would: the system and Python read-only from the host,
and the files that were named. Its first process is our supervisor, which keeps the limits as everywhere; the
engine's own stand behind it. The files that connect it with us are handed over by a socket.
"""

import io
import os
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from warpsmith.core import Command, Completed, EnvironmentMissing, InfraError
from warpsmith.sandbox.base import Guarantee, all_but, rest_of
from warpsmith.sandbox.channel import TreeGuest
from warpsmith.sandbox.environment import clean_environment, find_program
from warpsmith.sandbox.handover import give
from warpsmith.sandbox.job import TreeJob
from warpsmith.sandbox.mounts import Kind, Mount, plan
from warpsmith.sandbox.syscalls import filter_program
from warpsmith.sandbox.tree import Launch, Supervisor, check_folder, run_to_end

if TYPE_CHECKING:
    import docker
    from docker.models.containers import Container

BEGIN = (
    "import sys; sys.path.append(sys.argv[1]); import handover, supervisor; handover.take(sys.argv[2]); "
    "supervisor.main(int(sys.argv[3]))"
)
IMAGE = "warpsmith-empty"
LABEL = "warpsmith"
SCRATCH_BYTES = 4 << 30  # of /tmp and of /dev/shm, which are memory, where memory is not limited
TASKS_A_PROCESS = 8  # the engine counts threads; it is the backstop, the supervisor counts processes
MEMORY_SLACK = 4.0  # likewise; were it close, the kernel would kill first, and nobody could say why
START_S = 60.0
DEFAULT_HOST = "unix:///var/run/docker.sock"
INSTALL = "pip install 'warpsmith[docker]'"
# What stands in an empty image because the plan mounts nothing there.
IMAGE_FOLDERS = ("proc", "dev", "sys", "tmp", "etc")


class DockerSandbox:
    """Runs where an engine answers: Docker's, or another's behind DOCKER_HOST.

    /tmp and /dev/shm are empty and private unless the command names them. The engine's own filter of system
    calls applies besides ours. CUDA's inter-process memory needs the host's user namespace, so a rootless
    engine gives a GPU but no lending of its memory.
    """

    name = "docker"
    covers = all_but(Guarantee.GPU_MEMORY)
    not_covered = rest_of(covers)
    warning = None

    @classmethod
    def why_unavailable(cls) -> str | None:
        return _why_unavailable()

    @classmethod
    def is_available(cls) -> bool:
        return cls.why_unavailable() is None

    def run(self, command: Command) -> Completed:
        _check_available()
        return run_to_end(_launch(command, (), {}))

    def begin(self, command: Command) -> TreeJob:
        _check_available()
        return TreeJob(_launch(command, (), {}))

    def start(self, command: Command) -> TreeGuest:
        _check_available()
        return TreeGuest(lambda fds, env: _launch(command, fds, env))


class ContainerSupervisor:
    """Our supervisor as the first process of a container, with pipes to us like a child's."""

    def __init__(self, create: dict[str, Any], report: int, fds: tuple[int, ...]) -> None:
        """Start it; `report` and `fds` are its own from here on. Raises InfraError if the engine refuses."""
        theirs = {report: report} | {fd: fd for fd in fds}
        with ExitStack() as undo, ExitStack() as given:
            for fd in theirs:
                given.callback(os.close, fd)
            ours = {}
            for number, is_input in ((0, True), (1, False), (2, False)):
                reader, writer = os.pipe()
                theirs[number], kept = (reader, writer) if is_input else (writer, reader)
                given.callback(os.close, theirs[number])
                ours[number] = undo.enter_context(os.fdopen(kept, "wb" if is_input else "rb", buffering=0))
            self._container = self._started(create, report, theirs, undo)
            undo.pop_all()
        self.stdin: IO[bytes] | None = ours[0]
        self.stdout: IO[bytes] | None = ours[1]
        self.stderr: IO[bytes] | None = ours[2]

    def wait(self, timeout: float) -> int:
        """Its exit code, after which the container is gone. Raises TimeoutExpired."""
        deadline = time.monotonic() + timeout
        while self._state() not in ("exited", "stopped", "dead", "gone"):
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(IMAGE, timeout)
            time.sleep(0.02)
        self.kill()
        return 0  # a container leaves nothing behind, whatever its first process says

    def send_signal(self, signal: int) -> None:
        """Not needed: nothing in a container can stop its first process."""

    def kill(self) -> None:
        """End every process in the container, and remove it."""
        _remove(self._container)

    def _state(self) -> str:
        import docker

        try:
            self._container.reload()
        except docker.errors.NotFound:
            return "gone"
        except docker.errors.APIError:  # some engines stumble over a process that ends while they look
            return "unknown"
        return str(self._container.status)

    def _started(
        self, create: dict[str, Any], report: int, theirs: dict[int, int], undo: ExitStack
    ) -> "Container":
        import docker

        with (
            tempfile.TemporaryDirectory(prefix="warpsmith-") as folder,
            socket.socket(socket.AF_UNIX) as door,
        ):
            path = Path(folder) / "door"
            door.bind(str(path))
            door.listen(1)
            words = ("-I", "-S", "-c", BEGIN, str(Path(__file__).parent), str(path), str(report))
            mounts = [*create["mounts"], _bind(Path(folder), Path(folder), is_writable=True)]
            try:
                container = _engine().containers.create(
                    **create | {"command": [sys.executable, *words], "mounts": mounts}
                )
                undo.callback(_remove, container)
                container.start()
                give(door, theirs, START_S)
            except (docker.errors.DockerException, OSError) as error:
                raise InfraError(f"the container did not start: {_first_line(error)}") from error
        return container


def _launch(command: Command, fds: tuple[int, ...], env: dict[str, str]) -> Launch:
    check_folder(command)
    environment = clean_environment(command) | env
    mounts = plan(command, find_program(command, environment))
    create = _options(command, mounts)

    def start(report: int, inherited: tuple[int, ...]) -> Supervisor:
        return ContainerSupervisor(create, report, inherited)

    return Launch(
        argv=command.argv,
        cwd=command.cwd,
        env=environment,
        limits=command.limits,
        writable=command.writable,
        fds=fds,
        start=start,
        syscalls=filter_program(has_sockets=True),
    )


def _options(command: Command, mounts: tuple[Mount, ...]) -> dict[str, Any]:
    limits = command.limits
    scratch = limits.memory_bytes or SCRATCH_BYTES
    memory = None if limits.memory_bytes is None else int(MEMORY_SLACK * limits.memory_bytes) + (64 << 20)
    return {
        "image": IMAGE,
        "labels": [LABEL],
        "mounts": [*(one for mount in mounts for one in _mounted(mount)), *_supervisor(command)],
        "devices": [
            f"{mount.path}:{mount.path}:rw"
            for mount in mounts
            if mount.kind is Kind.DEVICE and _is_node(mount)
        ],
        "tmpfs": {
            str(mount.path): f"size={scratch},mode=1777"
            if mount.kind is Kind.SCRATCH
            else "size=64k,mode=755"
            for mount in mounts
            if mount.kind in (Kind.SCRATCH, Kind.EMPTY)
        },
        "network_mode": "none",
        "read_only": True,
        "user": f"{os.getuid()}:{os.getgid()}",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "pids_limit": limits.processes * TASKS_A_PROCESS,
        "mem_limit": memory,
        "memswap_limit": memory,
        "working_dir": "/",
    }


def _mounted(mount: Mount) -> "Iterator[docker.types.Mount]":
    """A link becomes what it leads to: an image that is empty cannot hold it."""
    if mount.kind in (Kind.READ, Kind.WRITE):
        yield _bind(mount.path, mount.path, is_writable=mount.kind is Kind.WRITE)
    elif mount.kind is Kind.LINK and mount.path.exists():
        yield _bind(mount.path.resolve(), mount.path, is_writable=False)


def _supervisor(command: Command) -> "Iterator[docker.types.Mount]":
    """The folder that the container's first process is read from, where the command would not see it."""
    here = Path(__file__).parent.resolve()
    if any(here.is_relative_to(folder.resolve()) for folder in command.hidden):
        yield _bind(here, Path(__file__).parent, is_writable=False)


def _bind(source: Path, target: Path, *, is_writable: bool) -> "docker.types.Mount":
    import docker

    return docker.types.Mount(str(target), str(source), type="bind", read_only=not is_writable)


def _is_node(mount: Mount) -> bool:
    return mount.path.is_char_device()


@cache
def _engine() -> "docker.DockerClient":
    import docker

    return docker.from_env()


def _check_available() -> None:
    reason = _why_unavailable()
    if reason is not None:
        raise EnvironmentMissing(f"the docker sandbox cannot run here: {reason}")


@cache
def _why_unavailable() -> str | None:
    try:
        import docker
    except ImportError:
        return f"the docker package is not installed: {INSTALL}"
    host = os.environ.get("DOCKER_HOST", DEFAULT_HOST)
    if host.startswith("unix://") and not Path(host.removeprefix("unix://")).exists():
        return f"no container engine listens at {host}; start one, or set DOCKER_HOST"
    try:
        _engine().ping()
        _make_image()
        completed = run_to_end(_launch(Command(argv=("true",), cwd=Path("/usr")), (), {}))
    except (docker.errors.DockerException, InfraError, OSError) as error:
        return f"no container engine answers ({_first_line(error)}); start one, or set DOCKER_HOST"
    return None if completed.is_success else f"a trivial command failed: {completed.stderr.strip()}"


def _make_image() -> None:
    """An image with a few empty folders, under our name, unless it is there."""
    import docker

    with suppress(docker.errors.ImageNotFound):
        _engine().images.get(IMAGE)
        return
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        for name in IMAGE_FOLDERS:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(folder)
    _engine().api.import_image_from_data(layer.getvalue(), repository=IMAGE, tag="latest")


def _remove(container: "Container") -> None:
    import docker

    with suppress(docker.errors.NotFound):
        container.remove(force=True)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
