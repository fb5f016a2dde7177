import importlib.util
import subprocess
import time

import pytest

from warpsmith.core import Candidate, Command, Completed, Ending
from warpsmith.device import select_device
from warpsmith.toolchain import Build, Store, Toolchain, find_compiler
from warpsmith.toolchain.build_cpu import HostBuilder


class DirectRunner:
    """Runs a command with nothing around it, and remembers it."""

    def __init__(self):
        self.commands: list[Command] = []

    def run(self, command: Command) -> Completed:
        self.commands.append(command)
        started = time.perf_counter()
        done = subprocess.run(
            command.argv, cwd=command.cwd, env=command.env, capture_output=True, text=True, check=False
        )
        return Completed(
            ending=Ending.EXITED if done.returncode >= 0 else Ending.SIGNALLED,
            exit_code=done.returncode,
            stdout=done.stdout,
            stderr=done.stderr,
            wall_s=time.perf_counter() - started,
        )


def _program(**kernels):
    return Candidate.of(
        {"model_new.py": "", **{f"kernels/{name}.cu": text for name, text in kernels.items()}}
    )


def _load(build: Build):
    assert isinstance(build, Build), build
    spec = importlib.util.spec_from_file_location("cuda_extension", build.folder / "cuda_extension.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def program():
    """Makes a candidate in the launcher form: file name without suffix -> source."""
    return _program


@pytest.fixture(scope="session")
def load():
    """Loads a build's generated module, as a candidate's own import would find it."""
    return _load


@pytest.fixture
def runner():
    return DirectRunner()


@pytest.fixture(scope="session")
def direct():
    """A runner for fixtures that outlive a test."""
    return DirectRunner()


@pytest.fixture(scope="session")
def shared_store(tmp_path_factory):
    """One store for the session, so that tests of the same program build it once."""
    return Store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="session")
def on_cpu(shared_store):
    """Builds for the CPU, without nvcc's report, which would double the time."""
    device = select_device("cpu")
    builder = HostBuilder(host=find_compiler(), nvcc=None, device=device)
    return Toolchain(device, shared_store, DirectRunner(), builder)
