"""Which compilers and tools this machine has, and how to get those that it lacks."""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import EnvironmentMissing
from warpsmith.toolchain.host import FIX as HOST_FIX
from warpsmith.toolchain.host import find_compiler
from warpsmith.toolchain.nvcc import FIX as NVCC_FIX
from warpsmith.toolchain.nvcc import Nvcc, find_nvcc, wheel_folders

TOOLKIT = "install the CUDA toolkit (https://developer.nvidia.com/cuda-downloads)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One tool."""

    name: str
    found: str | None  # where, and which version if it says so; None if it is not there
    fix: str  # what brings it
    needed_for: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Program:
    """A program that comes with the toolkit or beside it."""

    name: str
    patterns: tuple[str, ...]  # where its installer puts it when that is not on PATH
    fix: str
    needed_for: str


PROGRAMS = (
    _Program(
        name="ptxas",
        patterns=(),
        fix=NVCC_FIX,
        needed_for="registers, spills and shared memory of each kernel",
    ),
    _Program(
        name="cuobjdump",
        patterns=(),
        fix="pip install nvidia-cuda-cuobjdump",
        needed_for="the machine code of a kernel",
    ),
    _Program(
        name="ncu",
        patterns=("/opt/nvidia/nsight-compute/*/ncu", "/usr/local/NVIDIA-Nsight-Compute*/ncu"),
        fix="install Nsight Compute (https://developer.nvidia.com/nsight-compute)",
        needed_for="hardware counters of a kernel",
    ),
    _Program(
        name="nsys",
        patterns=("/opt/nvidia/nsight-systems/*/bin/nsys", "/usr/local/NVIDIA-Nsight-Systems*/bin/nsys"),
        fix="install Nsight Systems (https://developer.nvidia.com/nsight-systems)",
        needed_for="the timeline of a whole program",
    ),
    _Program(
        name="compute-sanitizer",
        patterns=(
            "/usr/local/cuda*/bin/compute-sanitizer",
            "/usr/local/cuda*/compute-sanitizer/compute-sanitizer",
        ),
        fix=TOOLKIT,
        needed_for="out-of-bounds accesses and races on a GPU",
    ),
)


def inventory() -> tuple[Finding, ...]:
    """Every tool that this project can use, found or not, the needed ones first."""
    nvcc = find_nvcc()
    return (_host(), _nvcc(nvcc), _cublas(nvcc), *(_program(program, nvcc) for program in PROGRAMS))


def find_program(name: str) -> Path | None:
    """Where one of PROGRAMS is, if this machine has it."""
    program = next(program for program in PROGRAMS if program.name == name)
    return next(_present(_candidates(program, find_nvcc())), None)


def _host() -> Finding:
    try:
        compiler = find_compiler()
        found, fix = f"{compiler.path} ({compiler.version})", HOST_FIX
    except EnvironmentMissing as error:
        found, fix = None, str(error)
    return Finding(
        name="C++ compiler", found=found, fix=fix, needed_for="every build; runs kernels on the CPU"
    )


def _nvcc(nvcc: Nvcc | None) -> Finding:
    return Finding(
        name="nvcc",
        found=f"{nvcc.path} ({nvcc.version})" if nvcc else None,
        fix=NVCC_FIX,
        needed_for="builds for a GPU; the resource report on the CPU",
    )


def _cublas(nvcc: Nvcc | None) -> Finding:
    header = nvcc.header("cublas_v2.h") if nvcc else None
    library = nvcc.library("cublas") if nvcc else None
    return Finding(
        name="cuBLAS",
        found=str(library) if header and library else None,
        fix="pip install nvidia-cublas" if nvcc else NVCC_FIX,
        needed_for="kernels for a GPU that call cuBLAS",
    )


def _program(program: _Program, nvcc: Nvcc | None) -> Finding:
    path = next(_present(_candidates(program, nvcc)), None)
    return Finding(
        name=program.name, found=str(path) if path else None, fix=program.fix, needed_for=program.needed_for
    )


def _candidates(program: _Program, nvcc: Nvcc | None) -> Iterator[Path]:
    if on_path := shutil.which(program.name):
        yield Path(on_path)
    if nvcc:
        yield nvcc.root / "bin" / program.name
    for folder in wheel_folders():
        yield folder / "bin" / program.name
    for pattern in program.patterns:
        yield from sorted(Path("/").glob(pattern.removeprefix("/")), reverse=True)


def _present(paths: Iterable[Path]) -> Iterator[Path]:
    return (path for path in paths if path.is_file())
