"""The environment of a program that must not see ours."""

import os
import shutil
import sys
from pathlib import Path

import warpsmith
from warpsmith.core import Command, InfraError

REQUESTS_FD = "WARPSMITH_REQUESTS_FD"
ANSWERS_FD = "WARPSMITH_ANSWERS_FD"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
GPU_NAMES = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_HOME",
    "CUDA_PATH",
    "LD_LIBRARY_PATH",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
)


def clean_environment(command: Command) -> dict[str, str]:
    """A fixed minimum, what the GPU needs if it is asked for, and then the command's own.

    PYTHONPATH names the folder that holds this package, and what the caller's own names, so that a guest can
    be run with `python -m` however this package was installed.
    """
    return _minimum(command.cwd, gpu=command.gpu) | command.env


def server_environment(*, gpu: bool) -> dict[str, str]:
    """The same for a program from which guests are forked: they can read it."""
    return _minimum(Path("/"), gpu=gpu)


def _minimum(home: Path, *, gpu: bool) -> dict[str, str]:
    minimum = {
        "PATH": f"{Path(sys.executable).parent}:{PATH}",
        "HOME": str(home),
        "USER": "warpsmith",  # else Python asks the password file, which may be hidden
        "LANG": "C.UTF-8",
        "PYTHONPATH": ":".join(map(str, python_path())),
    }
    return minimum | {name: os.environ[name] for name in GPU_NAMES if gpu and name in os.environ}


def python_path() -> list[Path]:
    """Absolute folders where Python finds packages beyond its own."""
    inherited = [
        Path(entry) for entry in os.environ.get("PYTHONPATH", "").split(":") if entry.startswith("/")
    ]
    return list(dict.fromkeys([*inherited, package_folder().parent]))


def package_folder() -> Path:
    return Path(warpsmith.__path__[0]).absolute()


def find_program(command: Command, environment: dict[str, str]) -> Path:
    """Where argv[0] is, links not followed. Raises InfraError if it is nowhere."""
    name = command.argv[0]
    found = command.cwd / name if "/" in name else Path(shutil.which(name, path=environment["PATH"]) or "/")
    if not (found.is_file() and os.access(found, os.X_OK)):
        raise InfraError(f"there is no program {name!r} to start")
    return found
