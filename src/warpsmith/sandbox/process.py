"""A plain process tree: bounded, killed whole, in a clean environment; but it sees and reaches everything."""

import sys
import tempfile
from functools import cache
from pathlib import Path

from warpsmith.core import Command, Completed, InfraError
from warpsmith.sandbox.base import Guarantee, all_but, rest_of
from warpsmith.sandbox.channel import TreeGuest
from warpsmith.sandbox.environment import clean_environment, find_program
from warpsmith.sandbox.job import TreeJob
from warpsmith.sandbox.nursery import Nursery, module_of, start
from warpsmith.sandbox.protection import protected
from warpsmith.sandbox.syscalls import filter_program
from warpsmith.sandbox.tree import Fork, Launch, check_folder, run_to_end


class ProcessSandbox:
    """Runs anywhere on Linux. Temporary files have a folder of their own, which goes with the command."""

    name = "process"
    covers = all_but(
        Guarantee.READ_ONLY,
        Guarantee.HIDDEN_FILES,
        Guarantee.HIDDEN_PROCESSES,
        Guarantee.NETWORK,
        Guarantee.GPU_MEMORY,
    )
    not_covered = rest_of(covers)
    warning = (
        "programs written by a model run as plain processes here: they can read and change your files and "
        "use the network; to stop that, apt-get install bubblewrap, or pip install 'warpsmith[sandbox]'"
    )

    @classmethod
    def why_unavailable(cls) -> str | None:
        return _why_unavailable()

    @classmethod
    def is_available(cls) -> bool:
        return cls.why_unavailable() is None

    def run(self, command: Command) -> Completed:
        return run_to_end(_launch(command, (), {}))

    def begin(self, command: Command) -> TreeJob:
        return TreeJob(_launch(command, (), {}))

    def start(self, command: Command) -> TreeGuest:
        def forked(nursery: Nursery, fds: tuple[int, ...], env: dict[str, str]) -> Launch:
            launch = _launch(command, fds, env)
            launch.start, launch.fork = nursery.start, Fork(module=module_of(command) or "")
            return launch

        return start(command, self.name, forked, lambda fds, env: _launch(command, fds, env))


def _launch(command: Command, fds: tuple[int, ...], env: dict[str, str]) -> Launch:
    check_folder(command)
    environment = clean_environment(command) | env
    find_program(command, environment)
    launch = Launch(argv=command.argv, cwd=command.cwd, env=environment, limits=command.limits, fds=fds)
    temporary = launch.resources.enter_context(tempfile.TemporaryDirectory(prefix="warpsmith-"))
    launch.resources.enter_context(protected(command))
    launch.writable = (*command.writable, Path(temporary))
    launch.syscalls = filter_program(has_sockets=True)
    launch.env = {"TMPDIR": temporary} | environment
    return launch


@cache
def _why_unavailable() -> str | None:
    if sys.platform != "linux":
        return f"needs Linux, and this is {sys.platform}"
    try:
        completed = ProcessSandbox().run(Command(argv=("true",), cwd=Path("/")))
    except InfraError as error:
        return str(error)
    return None if completed.is_success else f"a trivial command failed: {completed.stderr}"
