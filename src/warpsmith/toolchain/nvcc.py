"""NVIDIA's compiler: where it is, and how it is called."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from warpsmith.toolchain.compiling import Tool
from warpsmith.toolchain.host import HostCompiler

VERSION = re.compile(r"release (?P<release>[\d.]+), V(?P<version>[\d.]+)")
TOP = re.compile(r"^#\$ TOP=(?P<top>.+)$", re.MULTILINE)
FOLDER = re.compile(r'"-(?P<kind>[IL])(?P<folder>[^"]+)"')
QUERY_LIMIT_S = 30.0
DEFAULT = Path("/usr/local/cuda/bin/nvcc")
FIX = "pip install 'warpsmith[nvcc]', or install the CUDA toolkit and put its bin folder on PATH"

SYSTEM_LIBRARIES = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/local/nvidia/lib64",
)  # the driver's libcuda

COMPILE_FLAGS = ("-O3", "-std=c++17", "-Xcompiler", "-fPIC", "-Xptxas", "-v")

# A header that a source may include -> the library that it then needs.
LIBRARIES = {
    "cublas_v2.h": "cublas",
    "cublas.h": "cublas",
    "cublasLt.h": "cublasLt",
    "cuda.h": "cuda",
    "cudaTypedefs.h": "cuda",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Nvcc:
    """One installed compiler."""

    path: Path
    version: str  # "13.0.88"
    root: Path  # the toolkit's folder, or that of the wheels
    include_folders: tuple[Path, ...]
    library_folders: tuple[Path, ...]

    def library(self, name: str) -> Path | None:
        """The shared library to link for `name` ("cudart", "cublas"); wheels have only versioned names."""
        for folder in self.library_folders:
            exact = folder / f"lib{name}.so"
            found = [exact] if exact.exists() else sorted(folder.glob(f"lib{name}.so.*"))
            if found:
                return found[0]
        return None

    def header(self, name: str) -> Path | None:
        """Where `#include <name>` is found."""
        return next((folder / name for folder in self.include_folders if (folder / name).is_file()), None)


def find_nvcc() -> Nvcc | None:
    """The first that runs: on PATH, in CUDA_HOME, CUDA_PATH, /usr/local/cuda, the nvidia-cuda-nvcc wheels."""
    for path in _places():
        if path.is_file() and os.access(path, os.X_OK):
            found = describe_nvcc(path)
            if found is not None:
                return found
    return None


def gencode(arch: str) -> str:
    """The flag for one architecture and no other: `sm_90a` -> its virtual and its real one."""
    return f"-gencode=arch={arch.replace('sm_', 'compute_')},code={arch}"


def _places() -> Iterator[Path]:
    if on_path := shutil.which("nvcc"):
        yield Path(on_path)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            yield Path(home) / "bin" / "nvcc"
    yield DEFAULT
    for folder in wheel_folders():
        yield folder / "bin" / "nvcc"


def wheel_folders() -> tuple[Path, ...]:
    """Folders of NVIDIA's wheels, such as site-packages/nvidia/cu13, newest first."""
    parents = [Path(entry) / "nvidia" for entry in sys.path if entry]
    return tuple(folder for parent in parents for folder in sorted(parent.glob("cu[0-9]*"), reverse=True))


@cache
def describe_nvcc(path: Path) -> Nvcc | None:
    """What the nvcc at `path` says of itself; None if it does not run."""
    stated = VERSION.search(_output(path, "--version"))
    plan = _output(path, "--dryrun", "-x", "cu", "-c", os.devnull, "-o", os.devnull)
    top = TOP.search(plan)
    if stated is None:
        return None
    root = Path(top["top"]).resolve() if top else path.resolve().parent.parent
    named = {kind: [Path(m["folder"]) for m in FOLDER.finditer(plan) if m["kind"] == kind] for kind in "IL"}
    wheels = [folder for folder in wheel_folders() if folder != root]
    return Nvcc(
        path=path,
        version=stated["version"],
        root=root,
        include_folders=_present([*named["I"], root / "include", *(wheel / "include" for wheel in wheels)]),
        library_folders=_present(
            [
                *(folder for folder in named["L"] if folder.name != "stubs"),
                root / "lib64",
                root / "lib",
                *(wheel / "lib" for wheel in wheels),
                *(folder for folder in named["L"] if folder.name == "stubs"),
                root / "lib64" / "stubs",
                root / "lib" / "stubs",
                *map(Path, SYSTEM_LIBRARIES),
            ]
        ),
    )


def _output(path: Path, *arguments: str) -> str:
    """Both streams; empty if it cannot be run."""
    try:
        done = subprocess.run(
            [path, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=QUERY_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout + done.stderr


def _present(folders: list[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(folder.resolve() for folder in folders if folder.is_dir()))


def nvcc_tool(nvcc: Nvcc, host: HostCompiler, flags: tuple[str, ...]) -> Tool:
    """A call of nvcc with `flags`, and with `host` for the host's part."""
    return Tool(
        name="nvcc",
        argv=(str(nvcc.path), "-ccbin", str(host.path), *flags),
        readable=(nvcc.path, nvcc.root, *nvcc.include_folders, host.root),
        path=(nvcc.root / "bin", nvcc.path.parent, host.path.parent),
    )
