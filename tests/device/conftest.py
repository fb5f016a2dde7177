"""Programs for both devices: each is built once a session, by the flags that the toolchain uses.

Where there is a GPU the same tests run on it: what the CPU device does is what CUDA does.
"""

import ctypes
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from warpsmith.device import cpu, select_device
from warpsmith.toolchain.nvcc import find_nvcc, gencode

KERNELS = Path(__file__).parent / "kernels"
PROGRAMS = {
    "blocks": ("blocks.cu",),
    "warps": ("warps.cu",),
    "atomics": ("atomics.cu",),
    "launches": ("launches.cu",),
    "maths": ("math.cu",),
    "halves": ("halves.cu",),
    "products": ("products.cu",),
    "groups": ("groups.cu",),
    "twins": ("twin_a.cu", "twin_b.cu"),
}


class Program:
    """A built program. Arrays pass as pointers, floats as float, integers as int, None as a null pointer."""

    def __init__(self, path: Path):
        self.path = path
        self.library = ctypes.CDLL(str(path))

    def __call__(self, name, *arguments):
        return getattr(self.library, name)(*(as_c(argument) for argument in arguments))

    def ok(self, name, *arguments):
        code = self(name, *arguments)
        assert code == 0, f"{name}: {self.message() or code}"

    def message(self):
        text = self.library.warpsmith_error_message
        text.restype = ctypes.c_char_p
        return text().decode()

    def counters(self):
        counts = (ctypes.c_longlong * 4)()
        self.library.warpsmith_counters_read(counts)
        return tuple(counts)


class CudaProgram(Program):
    """The same on a GPU: arrays are copied to its memory, and back."""

    def __init__(self, path: Path, runtime: Path):
        super().__init__(path)
        self.runtime = ctypes.CDLL(str(runtime))

    def __call__(self, name, *arguments):
        arrays = {id(argument): argument for argument in arguments if isinstance(argument, np.ndarray)}
        copies = {key: self._to_gpu(array) for key, array in arrays.items()}
        code = getattr(self.library, name)(*(copies.get(id(each)) or as_c(each) for each in arguments))
        code = self.runtime.cudaDeviceSynchronize() or code
        for key, array in arrays.items():
            if array.flags.writeable:
                self._copy(ctypes.c_void_p(array.ctypes.data), copies[key], array.nbytes)
            self.runtime.cudaFree(copies[key])
        return code

    def _to_gpu(self, array):
        pointer = ctypes.c_void_p()
        assert self.runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(array.nbytes)) == 0
        self._copy(pointer, ctypes.c_void_p(array.ctypes.data), array.nbytes)
        return pointer

    def _copy(self, to, source, num_bytes):
        by_address = 4  # cudaMemcpyDefault
        self.runtime.cudaMemcpy(to, source, ctypes.c_size_t(num_bytes), by_address)

    def message(self):
        return ""


def as_c(argument):
    match argument:
        case np.ndarray():
            assert argument.flags.c_contiguous
            return ctypes.c_void_p(argument.ctypes.data)
        case float():
            return ctypes.c_float(argument)
        case None:
            return ctypes.c_void_p(0)
        case _:
            return ctypes.c_int(argument)


def build(sources, folder):
    """The shared object made of translated `sources` (paths), in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for header in KERNELS.glob("*.cuh"):
        (folder / header.name).write_text(cpu.translate(header.read_text()))
    units = []
    for source in sources:
        units.append(folder / f"{source.stem}.cpp")
        units[-1].write_text(cpu.translate(source.read_text()))
    target = folder / "program.so"
    done = subprocess.run(
        ["g++", *cpu.compile_flags(), "-shared", "-o", target, *units],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target


def build_for_gpu(sources, folder):
    nvcc = find_nvcc()
    assert nvcc is not None, "nvcc is not installed"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "program.so"
    options = ["-shared", "-Xcompiler", "-fPIC", "-cudart", "shared", gencode(select_device("cuda").arch)]
    includes = [f"-I{folder}" for folder in nvcc.include_folders]
    libraries = [nvcc.library(name) for name in ("cublas", "cublasLt")]
    done = subprocess.run(
        [nvcc.path, *options, *includes, "-o", target, *sources, *filter(None, libraries)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="session")
def program_jobs(request, tmp_path_factory):
    """The builds of all programs that this session's tests ask for, under way."""
    if shutil.which("g++") is None:
        pytest.fail("these tests need g++: apt-get install g++")
    root = tmp_path_factory.mktemp("programs")
    kinds = {"cpu": build, "cuda": build_for_gpu}
    with ThreadPoolExecutor(max_workers=2) as pool:
        yield {
            (name, kind): pool.submit(
                kinds[kind], [KERNELS / file for file in PROGRAMS[name]], root / kind / name
            )
            for name, kind in wanted(request.session.items)
        }


def wanted(items):
    """Which programs are needed for which device, in the order of the tests."""
    needed = {}
    for item in items:
        if not item.get_closest_marker("skip") and hasattr(item, "callspec"):
            needed |= {pair: None for pair in item.callspec.params.items() if pair[0] in PROGRAMS}
    return needed


def _program(name):
    @pytest.fixture(scope="session", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
    def program(request, program_jobs):
        path = program_jobs[name, request.param].result()
        return Program(path) if request.param == "cpu" else CudaProgram(path, find_nvcc().library("cudart"))

    return program


blocks = _program("blocks")
warps = _program("warps")
atomics = _program("atomics")
launches = _program("launches")
maths = _program("maths")
halves = _program("halves")
products = _program("products")
groups = _program("groups")
twins = _program("twins")


@pytest.fixture
def rng():
    return np.random.default_rng(7)
