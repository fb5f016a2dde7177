"""The `cpu` device: CUDA source compiled by the host's C++ compiler against our headers, and really run.

`include/` holds the headers; `translate` rewrites what C++ has no words for; `unsupported` finds what
cannot run. Checks of bounds and races belong where memory is handed to a kernel: `__shared__`,
`DynamicShared` and a launch's arguments (`launch.h`), and `cudaMalloc` (`runtime.h`).
"""

from warpsmith.device.cpu.flags import INCLUDE, compile_flags
from warpsmith.device.cpu.translate import translate
from warpsmith.device.cpu.unsupported import Unsupported, unsupported

__all__ = ["INCLUDE", "Unsupported", "compile_flags", "translate", "unsupported"]
