"""Source files to a shared object that Python can call, in a store that builds each of them once."""

from warpsmith.toolchain.build import Build, Toolchain
from warpsmith.toolchain.host import HostCompiler, find_compiler
from warpsmith.toolchain.launchers import Launcher, Parameter, ParameterKind
from warpsmith.toolchain.nvcc import Nvcc, find_nvcc
from warpsmith.toolchain.store import Store, default_store

__all__ = [
    "Build",
    "HostCompiler",
    "Launcher",
    "Nvcc",
    "Parameter",
    "ParameterKind",
    "Store",
    "Toolchain",
    "default_store",
    "find_compiler",
    "find_nvcc",
]
