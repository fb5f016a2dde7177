"""How the host's compiler is called."""

import functools
import platform
from pathlib import Path

INCLUDE = Path(__file__).parent / "include"

# A level, unlike -march=native, is the same on many machines: a stored build may be used on another.
_X86_64_V3 = frozenset(("avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"))


def compile_flags() -> tuple[str, ...]:
    """The flags that stand before `-shared -o out.so file.cpp`; g++ 11 and clang 14 or later take them."""
    return (
        "-std=gnu++17",
        "-O2",
        *_machine_flags(),
        "-fPIC",
        "-pthread",
        # As on the GPU: a float4 may be read where floats were written, integers wrap, a*b+c is one rounding.
        "-fno-strict-aliasing",
        "-fwrapv",
        "-ffp-contract=fast",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fno-semantic-interposition",
        # A process may hold a real CUDA runtime, or two programs of ours: each .so calls its own functions.
        "-Wl,-Bsymbolic",
        "-w",
        f"-I{INCLUDE}",
        # As nvcc does for every file.
        "-include",
        str(INCLUDE / "cuda_runtime.h"),
    )


@functools.cache
def _machine_flags() -> tuple[str, ...]:
    if platform.machine() != "x86_64":
        return ()
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    words = next((set(line.split()) for line in lines if line.startswith("flags")), set())
    return ("-march=x86-64-v3",) if words >= _X86_64_V3 else ()
