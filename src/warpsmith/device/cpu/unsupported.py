"""Constructs that only a GPU executes. A program that has one is not judged here: not runnable, not wrong."""

import re
from dataclasses import dataclass

from warpsmith.device.cpu.flags import INCLUDE
from warpsmith.device.cpu.tokens import Source


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A construct this device cannot execute, and the line it stands on."""

    construct: str
    line: int


_NAMES: dict[str, str] = {
    "asm": "inline PTX (asm)",
    "__asm__": "inline PTX (asm)",
    "__asm": "inline PTX (asm)",
    "wmma": "tensor-core fragments (wmma)",
    "nvcuda": "tensor-core fragments (wmma)",
    "wgmma": "warp-group matrix instructions (wgmma)",
    "CUtensorMap": "the tensor memory accelerator (TMA)",
    "cuTensorMapEncodeTiled": "the tensor memory accelerator (TMA)",
    "this_grid": "synchronization of the whole grid",
    "grid_group": "synchronization of the whole grid",
    "multi_grid_group": "synchronization of several grids",
    "cudaLaunchCooperativeKernel": "synchronization of the whole grid",
    "cudaLaunchKernel": "a launch through an untyped pointer",
    "cudaLaunchKernelEx": "a launch with attributes",
    "cudaLaunchKernelExC": "a launch with attributes",
    "this_cluster": "thread-block clusters",
    "cluster_group": "thread-block clusters",
    "__cluster_dims__": "thread-block clusters",
    "cudaTextureObject_t": "textures",
    "cudaSurfaceObject_t": "surfaces",
    "cudaStreamBeginCapture": "CUDA graphs",
    "cudaLaunchHostFunc": "host functions in a stream",
    "cudaDeviceSynchronizeTail": "launches from a kernel",
}

# Beginnings of names: the families have many members.
_PREFIXES: dict[str, str] = {
    "__nv_fp8": "8-bit floating point",
    "__nv_cvt_": "8-bit floating point",
    "cudaGraph": "CUDA graphs",
    "tex1D": "textures",
    "tex2D": "textures",
    "tex3D": "textures",
}

# Headers of NVIDIA's that we have no counterpart for.
_HEADER = re.compile(
    r"(cuda[\w/.-]*|cu(?:rand|fft|sparse|solver|dnn|tensor)[\w.]*|(?:cub|thrust|cute|cutlass|nv|cccl)/.*"
    r"|nccl\.h|nvrtc\.h|cooperative_groups/.*|cublas\w*\.h|texture_\w+\.h|surface_\w+\.h)"
)


def unsupported(text: str) -> tuple[Unsupported, ...]:
    """What in `text` this device cannot execute, by line; code under `#if 0` is not looked at."""
    source = Source(text)
    dead = _dead_directives(source)
    found: list[Unsupported] = []
    for index, token in enumerate(source.tokens):
        if any(start <= token.start < end for start, end in dead):
            continue
        construct = _construct(token.text) if token.kind == "name" else None
        if construct and token.directive and source.is_mark(index - 1, "define"):
            construct = None
        if token.text == "include" and source.is_mark(index - 1, "#"):
            construct = _missing_header(text[token.end :].split("\n", 1)[0])
        if construct:
            found.append(Unsupported(construct, source.line(token)))
    return tuple(found)


def _construct(name: str) -> str | None:
    if name in _NAMES:
        return _NAMES[name]
    return next((construct for prefix, construct in _PREFIXES.items() if name.startswith(prefix)), None)


def _missing_header(rest: str) -> str | None:
    match = re.match(r"\s*[<\"]([^>\"]+)[>\"]", rest)
    if match is None or not _HEADER.fullmatch(match[1]) or (INCLUDE / match[1]).is_file():
        return None
    return f"the header <{match[1]}>"


def _dead_directives(source: Source) -> list[tuple[int, int]]:
    """Stretches of the text between `#if 0` and its `#else`, `#elif` or `#endif`."""
    dead: list[tuple[int, int]] = []
    conditions: list[int | None] = []  # for each open #if where its dead stretch began, None for a live one
    for index, token in enumerate(source.tokens):
        if token.text != "#" or not token.directive or index + 1 >= len(source.tokens):
            continue
        word = source.tokens[index + 1].text
        if word in ("if", "ifdef", "ifndef"):
            is_dead = word == "if" and source.is_mark(index + 2, "0")
            conditions.append(token.start if is_dead else None)
        elif word in ("else", "elif", "endif") and conditions:
            start = conditions.pop()
            if start is not None:
                dead.append((start, token.start))
            if word != "endif":
                conditions.append(None)
    return dead
