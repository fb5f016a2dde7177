"""What the author of a kernel says of it: the comment on top of a .cu file, and the kernels it defines."""

import re
from dataclasses import dataclass

from warpsmith.core import Candidate

LEADING = re.compile(r"\s*(?P<comment>/\*.*?\*/|//[^\n]*(?:\n[ \t]*//[^\n]*)*)", re.DOTALL)
MARKERS = re.compile(r"^[ \t]*(?:///?|/?\*+/?)[ \t]?|[ \t]*\*+/[ \t]*$", re.MULTILINE)
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
KERNEL = re.compile(r"__global__\b[^;{]*?\b(?P<name>[A-Za-z_]\w*)\s*\((?!\s*\d)", re.DOTALL)
LAUNCH_BOUNDS = re.compile(r"__launch_bounds__\s*\([^()]*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFile:
    """One .cu file as a reader is told of it; `summary` is empty if its author said nothing."""

    path: str
    summary: str
    kernels: tuple[str, ...]


def kernel_files(candidate: Candidate) -> tuple[KernelFile, ...]:
    """Every .cu file of `candidate`, in its order."""
    return tuple(
        KernelFile(path=path, summary=summary_of(text), kernels=kernel_names(text))
        for path, text in candidate.files
        if path.endswith(".cu")
    )


def summary_of(source: str) -> str:
    """The comment that `source` begins with, without its markers."""
    found = LEADING.match(source)
    if found is None:
        return ""
    lines = [line.strip() for line in MARKERS.sub("", found["comment"]).splitlines()]
    return "\n".join(lines).strip()


def kernel_names(source: str) -> tuple[str, ...]:
    """The __global__ functions that `source` defines, each once."""
    code = LAUNCH_BOUNDS.sub("", COMMENTS.sub("", source))
    return tuple(dict.fromkeys(found["name"] for found in KERNEL.finditer(code)))
