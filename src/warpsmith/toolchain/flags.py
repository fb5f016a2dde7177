"""Which of a program's own compiler flags are obeyed, which make no difference here, and which are refused.

A flag may choose how the program's code is compiled. None may name a file, run a program or reach outside.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from warpsmith.core import InlineCall

DEFINE = r"-[DU]\w+(?:=[\w.:()-]*)?"

# What changes the code, and is passed on.
HOST = re.compile(rf"{DEFINE}|-fopenmp")
DEVICE = re.compile(
    rf"{DEFINE}|-{{1,2}}use_fast_math|-{{1,2}}(?:ftz|prec-div|prec-sqrt|fmad)=(?:true|false)"
    r"|-{1,2}(?:maxrregcount|default-stream)=\w+|-{1,2}(?:expt-)?(?:extended-lambda|relaxed-constexpr)"
    r"|-{1,2}(?:lineinfo|generate-line-info|restrict)|-extra-device-vectorization"
    r"|(?:-Xptxas|--ptxas-options)=-(?:O[0-3]|dlcm=c[agsv]|dscm=\w{2}|allow-expensive-optimizations=true)"
)
# What is ours to choose (standard, architecture, level, warnings), and is left out.
OURS = re.compile(
    r"-std=[\w+]+|-{1,2}std=[\w+]+|-O\w*|-g\d?|-G|-w|-v|-W\w[\w=-]*|-fPIC|-fpic|-m(?:arch|tune|cpu)=\w[\w.-]*"
    r"|-m(?:avx\w*|fma|sse[\w.]*|f16c|bmi2?)|-pthread|-s|-t\d+|-{1,2}(?:threads|split-compile)=\d+|-pipe"
    r"|-f(?:no-)?(?:fast-math|unroll-loops|exceptions|rtti|strict-aliasing|omit-frame-pointer|permissive|lto"
    r"|tree-vectorize|math-errno|finite-math-only|inline-functions|visibility=\w+|visibility-inlines-hidden)"
    r"|(?:-{1,2}gpu-architecture|-arch|-{1,2}gpu-code|-code)=[\w,]+|-{1,2}generate-code=?[\w=,\[\]\"]*"
    r"|-gencode=?[\w=,\[\]\"]*|(?:-Xptxas|--ptxas-options)=(?:-v|--?warn-[\w-]+|-w)|--?resource-usage|-Xfatbin=\S+"
    r"|-Xcompiler=-(?:fPIC|O\d|w|Wall|fopenmp|march=native)|-{1,2}compiler-options=-fPIC|-{1,2}diag-suppress=[\d,]+"
)
# Flags whose value may stand in the next argument.
PAIRED = frozenset(
    [
        "-Xptxas",
        "--ptxas-options",
        "-Xcompiler",
        "--compiler-options",
        "-gencode",
        "--generate-code",
        "-arch",
        "--gpu-architecture",
        "-code",
        "-maxrregcount",
        "--maxrregcount",
        "-std",
        "--std",
        "-t",
        "--threads",
        "-D",
        "-U",
        "-default-stream",
        "--default-stream",
        "-diag-suppress",
        "--diag-suppress",
    ]
)
LIBRARIES = {"cublas": "cublas", "cublasLt": "cublasLt", "cudnn": "cudnn", "cuda": "cuda"}
LINKED_ANYWAY = frozenset(
    [
        "cudart",
        "c10",
        "c10_cuda",
        "torch",
        "torch_cpu",
        "torch_cuda",
        "torch_python",
        "stdc++",
        "m",
        "pthread",
        "dl",
        "gomp",
    ]
)
HARMLESS = re.compile(
    r"-L/usr/local/cuda[\w./-]*|-L/usr/lib[\w./-]*|-Wl,-rpath,/usr/local/cuda[\w./-]*|-fopenmp|"
    + OURS.pattern
)


class FlagRefused(Exception):
    """A flag that no program needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What is passed on of a call's flags."""

    host: tuple[str, ...] = ()
    device: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()


def flags_of(call: InlineCall) -> Flags:
    """Raises FlagRefused."""
    return Flags(
        host=tuple(_kept(call.cflags, HOST)),
        device=tuple(_kept(call.cuda_flags, DEVICE)),
        libraries=tuple(_libraries(call.ldflags)),
    )


def _kept(flags: Iterable[str], wanted: re.Pattern[str]) -> Iterator[str]:
    for flag in _joined(flags):
        if wanted.fullmatch(flag):
            yield flag
        elif not OURS.fullmatch(flag) and not HOST.fullmatch(flag):
            raise FlagRefused(
                f"the compiler flag {flag!r} may not be given; defines, optimization, architecture and fast "
                "math may"
            )


def _joined(flags: Iterable[str]) -> Iterator[str]:
    """Flags with their values in one argument."""
    waiting = iter([part for flag in flags for part in flag.split()])
    for flag in waiting:
        if flag not in PAIRED:
            yield flag
        elif (value := next(waiting, None)) is not None:
            yield f"{flag}{value}" if flag in ("-D", "-U", "-t") else f"{flag}={value}"


def _libraries(flags: Iterable[str]) -> Iterator[str]:
    for flag in [part for text in flags for part in text.split()]:
        name = flag.removeprefix("-l")
        if flag.startswith("-l") and name in LIBRARIES:
            yield LIBRARIES[name]
        elif not (flag.startswith("-l") and name in LINKED_ANYWAY) and not HARMLESS.fullmatch(flag):
            raise FlagRefused(f"the linker flag {flag!r} may not be given; -l{' -l'.join(LIBRARIES)} may")
