"""The installed torch, as a C++ library: headers, libraries, flags. torch itself is never imported here."""

import importlib.util
import re
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from warpsmith.core import EnvironmentMissing

OWN_INCLUDE = Path(__file__).parent / "include"
STANDARD = "-std=c++20"  # what the headers of the newest torch need, and those of older ones take
VERSION = re.compile(r"^__version__ = '(?P<version>[^']+)'", re.MULTILINE)

# A file that includes one of these needs torch's headers.
INCLUDES_TORCH = re.compile(r'#\s*include\s*[<"](?:torch|ATen|c10|caffe2|pybind11|warpsmith_inline)\b')
# What torch/extension.h brings and our lean one does not.
WHOLE_TORCH = re.compile(
    r"\btorch\s*::\s*(?:nn|optim|jit|data|serialize|autograd|fft|linalg|special|sparse|nested|save|load)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchInstall:
    """Where torch lies, and what was built into it."""

    root: Path  # site-packages/torch
    version: str
    has_cuda: bool
    include_folders: tuple[Path, ...]
    python_include: Path

    @property
    def libraries(self) -> tuple[Path, ...]:
        """What an extension is linked with."""
        names = ["torch", "torch_cpu", "torch_python", "c10", *(("torch_cuda", "c10_cuda") * self.has_cuda)]
        return tuple(path for name in names if (path := self.root / "lib" / f"lib{name}.so").exists())

    @property
    def defines(self) -> tuple[str, ...]:
        has_macros = (self.root / "include" / "c10" / "cuda" / "impl" / "cuda_cmake_macros.h").exists()
        return (
            "-DTORCH_API_INCLUDE_EXTENSION_H",
            *(("-DC10_CUDA_NO_CMAKE_CONFIGURE_FILE",) * (not has_macros)),
        )

    @property
    def flags(self) -> tuple[str, ...]:
        """For host and device compilers alike; our own headers come first."""
        folders = (*self.include_folders, self.python_include)
        return (
            STANDARD,
            f"-I{OWN_INCLUDE}",
            *(part for folder in folders for part in ("-isystem", str(folder))),
            *self.defines,
        )

    @property
    def readable(self) -> tuple[Path, ...]:
        return (self.root, self.python_include, OWN_INCLUDE)


@cache
def find_torch() -> TorchInstall:
    """The one that this Python would import. Raises EnvironmentMissing without it or Python's headers."""
    found = importlib.util.find_spec("torch")
    if found is None or not found.origin:
        raise EnvironmentMissing(
            "torch is not installed, and this program is written against its C++ library"
        )
    root = Path(found.origin).parent
    python_include = Path(sysconfig.get_path("include"))
    if not (python_include / "Python.h").is_file():
        raise EnvironmentMissing(
            f"Python's headers are not installed ({python_include}/Python.h), and this program is a Python "
            "extension; install them: apt-get install python3-dev"
        )
    stated = VERSION.search((root / "version.py").read_text())
    include = root / "include"
    return TorchInstall(
        root=root,
        version=stated["version"] if stated else "unknown",
        has_cuda=(root / "lib" / "libtorch_cuda.so").exists(),
        include_folders=(include, include / "torch" / "csrc" / "api" / "include"),
        python_include=python_include,
    )
