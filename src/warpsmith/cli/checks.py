"""What this machine has of all that a run needs, and how to get the rest. Importing torch is not needed."""

import importlib.util
import os
import platform
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path

from warpsmith.device import NoGpu, find_gpus
from warpsmith.sandbox import SANDBOXES
from warpsmith.toolchain import default_store
from warpsmith.toolchain.inventory import inventory

TORCH_CUDA = re.compile(r"^cuda\b[^=]*=\s*'(?P<version>[\d.]+)'", re.MULTILINE)
LOWEST_TORCH = (2, 10)
CPU_NEEDS = ("torch", "C++ compiler", "sandbox", "build cache")
CUDA_NEEDS = (*CPU_NEEDS, "GPU", "nvcc", "torch with CUDA")


MODEL_PACKAGES = {"openai": "openai", "anthropic": "anthropic", "transformers": "local"}  # -> kind of model


class State(StrEnum):
    """How a thing stands."""

    OK = "ok"
    WEAK = "weak"  # works, with less than one may want
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked for. `fix` is empty where nothing need be done."""

    name: str
    state: State
    found: str
    fix: str
    needed_for: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """All checks of a machine, and which devices it can do the main job on."""

    checks: tuple[Check, ...]

    @property
    def devices(self) -> tuple[str, ...]:
        """`cuda`, `cpu`, both or none."""
        absent = {check.name for check in self.checks if check.state is State.MISSING}
        needs = {"cuda": CUDA_NEEDS, "cpu": CPU_NEEDS}
        return tuple(device for device, names in needs.items() if not absent.intersection(names))


def examine() -> Examination:
    """Look for everything once."""
    return Examination(
        checks=(_gpu(), *_tools(), *_torch(), *_sandboxes(), _cache(), _scratch(), *_optional_packages())
    )


def _check(name: str, found: str | None, fix: str, needed_for: str) -> Check:
    state = State.MISSING if found is None else State.OK
    return Check(
        name=name, state=state, found=found or "", fix=fix if found is None else "", needed_for=needed_for
    )


def _gpu() -> Check:
    gpus = find_gpus()
    needed_for = "measured times (without one they are modelled)"
    if isinstance(gpus, NoGpu):
        fix = f"{gpus.reason}; install NVIDIA's driver, or work with --device cpu"
        return _check("GPU", None, fix, needed_for)
    names = ", ".join(f"{gpu.name} ({gpu.arch}, {gpu.memory_bytes >> 30} GiB)" for gpu in gpus)
    return _check("GPU", f"{names}, driver {_driver_version()}", "", needed_for)


def _driver_version() -> str:
    try:
        return Path("/sys/module/nvidia/version").read_text().strip()
    except OSError:
        return "of unknown version"


def _tools() -> Iterator[Check]:
    for finding in inventory():
        yield _check(finding.name, finding.found, finding.fix, finding.needed_for)


def _torch() -> Iterator[Check]:
    version = _version("torch")
    install = "pip install 'torch>=2.10'"
    is_old = version is not None and _numbers(version) < LOWEST_TORCH
    fix = f"torch {version} is too old; {install}" if is_old else install
    yield _check("torch", None if is_old else version, fix, "everything")
    cuda = _torch_cuda()
    fix = "install a torch with CUDA: https://pytorch.org/get-started/locally"
    yield _check("torch with CUDA", None if cuda is None else f"CUDA {cuda}", fix, "running on a GPU")


def _torch_cuda() -> str | None:
    """The CUDA version that torch was built for, by its own version file: importing it takes seconds."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    try:
        found = TORCH_CUDA.search(Path(spec.origin).with_name("version.py").read_text())
    except OSError:
        return None
    return found["version"] if found else None


def _sandboxes() -> Iterator[Check]:
    available = [kind for kind, sandbox in SANDBOXES.items() if sandbox.is_available()]
    found = ", ".join(available) or None
    yield _check("sandbox", found, "see the lines on each kind", "running programs that nobody trusts yet")
    for kind, sandbox in SANDBOXES.items():
        reason = sandbox.why_unavailable()
        if reason is not None:
            yield _check(f"sandbox {kind}", None, reason, "a stronger sandbox")
            continue
        instance = sandbox()
        gaps = "; ".join(instance.not_covered) or "nothing"
        yield Check(
            name=f"sandbox {kind}",
            state=State.OK if instance.warning is None else State.WEAK,
            found=f"covers {'; '.join(instance.covers)}",
            fix=f"does not cover {gaps}",
            needed_for="used by --sandbox auto" if kind == available[0] else f"--sandbox {kind}",
        )


def _cache() -> Check:
    root = default_store().root
    problem = _why_not_writable(root)
    fix = f"{root}: {problem}; set WARPSMITH_CACHE to a folder that can be written"
    return _check("build cache", str(root) if problem is None else None, fix, "keeping builds")


def _scratch() -> Check:
    folder = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else Path(tempfile.gettempdir())
    free = os.statvfs(folder)
    free_gib = free.f_bavail * free.f_frsize / (1 << 30)
    needed_for = "exchanging tensors between processes"
    if free_gib >= 1.0:
        return _check("scratch space", f"{folder}, {free_gib:.0f} GiB free", "", needed_for)
    return Check(
        name="scratch space",
        state=State.WEAK,
        found=f"{folder}, {free_gib:.2f} GiB free",
        fix="free some, or set TMPDIR to a folder with room; large tasks need several GiB",
        needed_for=needed_for,
    )


def _optional_packages() -> Iterator[Check]:
    for package, kind in MODEL_PACKAGES.items():
        install = f"pip install 'warpsmith[{kind}]'"
        yield _check(f"{package} package", _version(package), install, f"--model {kind}:…")
    yield _check("python", platform.python_version(), "", "everything")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def _why_not_writable(folder: Path) -> str | None:
    """What the system says when a file is made there; the folder itself is made as a build would."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return error.strerror or str(error)
