from warpsmith.core import KernelResources
from warpsmith.toolchain.resources import demangled, parse_ptxas

ONE = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z3addPKfS0_Pfi' for 'sm_90a'
ptxas info    : Function properties for _Z3addPKfS0_Pfi
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers
ptxas info    : Compile time = 21.862 ms
"""

# One that spills and calls a function, whose own frame is listed first; and an old ptxas's form.
MANY = """ptxas info    : 24 bytes gmem, 16 bytes cmem[4]
ptxas info    : Compiling entry function '_Z5spillPf' for 'sm_80'
ptxas info    : Function properties for _Z6helperf
    800 bytes stack frame, 999 bytes spill stores, 999 bytes spill loads
ptxas info    : Function properties for _Z5spillPf
    64 bytes stack frame, 48 bytes spill stores, 72 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 64 bytes cumulative stack size, 4096 bytes smem
ptxas info    : Compiling entry function 'softmax' for 'sm_80'
ptxas info    : Function properties for softmax
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, 1024+16 bytes smem, 352 bytes cmem[0]
"""


def resources(kernel, arch, registers, spill=0, shared=0, stack=0):
    return KernelResources(
        kernel=kernel,
        arch=arch,
        registers=registers,
        spill_bytes=spill,
        shared_bytes=shared,
        stack_bytes=stack,
    )


def test_one_kernel_is_read():
    assert parse_ptxas(ONE) == (resources("_Z3addPKfS0_Pfi", "sm_90a", 12),)


def test_several_kernels_are_read_each_with_its_own_frame():
    assert parse_ptxas(MANY) == (
        resources("_Z5spillPf", "sm_80", 255, spill=120, shared=4096, stack=64),
        resources("softmax", "sm_80", 32, shared=1024),
    )


def test_a_log_without_kernels_gives_none():
    assert parse_ptxas("kernels/k.cu(3): warning #177-D: variable was declared but never referenced") == ()


def test_names_become_readable():
    assert [one.kernel for one in demangled(parse_ptxas(ONE + MANY))] == [
        "add(float const*, float const*, float*, int)",
        "spill(float*)",
        "softmax",
    ]
    assert demangled(()) == ()
