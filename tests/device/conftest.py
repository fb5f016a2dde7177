"""Programs for the cpu device: each is built once a session, by the flags that the toolchain uses."""

import ctypes
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from warpsmith.device import cpu

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


@pytest.fixture(scope="session")
def program_jobs(request, tmp_path_factory):
    """The builds of all programs that this session's tests ask for, under way."""
    if shutil.which("g++") is None:
        pytest.fail("these tests need g++: apt-get install g++")
    root = tmp_path_factory.mktemp("programs")
    with ThreadPoolExecutor(max_workers=2) as pool:
        yield {
            name: pool.submit(build, [KERNELS / file for file in PROGRAMS[name]], root / name)
            for name in wanted(request.session.items)
        }


def wanted(items):
    """Which programs are needed, in the order of the tests."""
    return dict.fromkeys(
        name for item in items for name in getattr(item, "fixturenames", ()) if name in PROGRAMS
    )


def _program(name):
    @pytest.fixture(scope="session")
    def program(program_jobs):
        return Program(program_jobs[name].result())

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
