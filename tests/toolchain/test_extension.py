"""The generated module, over a library that is really built and run on the CPU device."""

import subprocess
import sys

import pytest
import torch

from warpsmith.toolchain import Launcher
from warpsmith.toolchain.extension import extension_source, prototype
from warpsmith.toolchain.launchers import FLOATING, INTEGERS, POINTER_DTYPES, VECTORS

NUMBERS = {name.replace(" ", "_"): name for name in INTEGERS}
POINTERS = {name.replace(" ", "_"): name for name in POINTER_DTYPES if name != "void" and "fp8" not in name}
COMPLEX = ("cuFloatComplex", "cuDoubleComplex")

COPY = """
__global__ void copy_kernel_{name}(const {ctype}* x, {ctype}* y, long long n) {{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}}
extern "C" int copy_{name}(const {ctype}* x, {ctype}* y, long long n, cudaStream_t stream) {{
    if (n > 0) copy_kernel_{name}<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
    return (int)cudaGetLastError();
}}
"""

STORE = """
extern "C" int store_{name}({ctype} value, {wide}* out) {{ out[0] = ({wide})value; return 0; }}
"""

REST = """
__global__ void fill_kernel(float* x, float value) { x[threadIdx.x] = value; }
extern "C" void fill(float* x, int n, float value, cudaStream_t stream) {
    fill_kernel<<<1, n, 0, stream>>>(x, value);
}
extern "C" int status(int value) { return value; }
extern "C" int nothing(void) { return 0; }
extern "C" cudaError_t sum4(const float4* __restrict__ x, float* y, cudaStream_t stream) {
    y[0] = x[0].x + x[0].y + x[0].z + x[0].w;
    return cudaSuccess;
}
extern "C" int add_bias(const float* x, float* y, const float* bias = nullptr) {
    y[0] = x[0] + (bias ? bias[0] : 100.0f);
    return 0;
}
extern "C" int touch(void* in, const void* type) { return 0; }
"""


def source():
    parts = [
        "#include <cuda_runtime.h>",
        "#include <cuda_fp16.h>",
        "#include <cuda_bf16.h>",
        "#include <cstdint>",
    ]
    parts += [COPY.format(name=name, ctype=ctype) for name, ctype in POINTERS.items() if ctype not in COMPLEX]
    parts += [STORE.format(name=name, ctype=ctype, wide="long long") for name, ctype in NUMBERS.items()]
    parts += [STORE.format(name=name, ctype=name, wide="double") for name in FLOATING]
    return "\n".join([*parts, REST])


@pytest.fixture(scope="session")
def build(on_cpu, program):
    return on_cpu.build(program(k=source()))


@pytest.fixture(scope="session")
def extension(build, load):
    return load(build)


@pytest.mark.parametrize("name", [name for name, ctype in POINTERS.items() if ctype not in COMPLEX])
def test_tensors_of_every_dtype_go_through(extension, name):
    copy = getattr(extension, f"copy_{name}")
    for dtype in POINTER_DTYPES[POINTERS[name]]:
        x = torch.arange(100).remainder(2 if dtype == "bool" else 100).to(getattr(torch, dtype))
        y = torch.zeros_like(x)
        copy(x, y, 100)
        assert torch.equal(x.view(torch.uint8), y.view(torch.uint8))


@pytest.mark.parametrize("name", NUMBERS)
def test_integers_go_through_up_to_the_bounds_of_their_type_and_no_further(extension, name):
    store, out = getattr(extension, f"store_{name}"), torch.zeros(1, dtype=torch.int64)
    _, low, high = INTEGERS[NUMBERS[name]]
    for value in (low, 0, 1, high):
        store(value, out)
        wrapped = value - (1 << 64) if value >= 1 << 63 else value
        assert out.item() == wrapped
    for value in (low - 1, high + 1):
        with pytest.raises(
            ValueError, match=rf"store_{name}: value must be from {low} to {high}; got {value}"
        ):
            store(value, out)


def test_numbers_of_other_python_types_are_taken_at_their_value(extension):
    numpy = pytest.importorskip("numpy")
    whole, real = torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.float64)
    for value in (True, numpy.int32(1), numpy.uint8(1)):
        extension.store_int(value, whole)
        assert whole.item() == 1
    for value in (3, numpy.float32(3.0), True + 2):
        extension.store_double(value, real)
        assert real.item() == 3.0


@pytest.mark.parametrize("value", [1.0, "1", None, torch.tensor(1)])
def test_what_is_no_integer_is_refused(extension, value):
    with pytest.raises(TypeError, match=f"store_int: value must be an int; got {type(value).__name__}"):
        extension.store_int(value, torch.zeros(1, dtype=torch.int64))


@pytest.mark.parametrize("value", ["1", None, torch.tensor(1.0)])
def test_what_is_no_number_is_refused(extension, value):
    with pytest.raises(TypeError, match=f"store_float: value must be a float; got {type(value).__name__}"):
        extension.store_float(value, torch.zeros(1, dtype=torch.float64))


class Disguised(torch.Tensor):
    pass


@pytest.mark.parametrize(
    ("tensor", "error", "message"),
    [
        (torch.zeros(4, 4, dtype=torch.float64), TypeError, r"got torch.float64 on cpu, shape \(4, 4\)"),
        (torch.zeros(4, 4).t()[:3], ValueError, r"strides \(1, 4\)"),
        (torch.zeros(4, 4, device="meta"), ValueError, "got torch.float32 on meta"),
        (torch.zeros(4).as_subclass(Disguised), TypeError, "got Disguised"),
        ([1.0, 2.0], TypeError, "got list"),
        (None, TypeError, "got NoneType"),
        (0, TypeError, "got int"),
    ],
)
def test_a_tensor_that_does_not_fit_is_refused_by_name(extension, tensor, error, message):
    with pytest.raises(
        error, match=rf"^copy_float: y must be a contiguous tensor of float32 on cpu; .*{message}"
    ):
        extension.copy_float(torch.zeros(16), tensor, 16)


def test_an_address_that_a_vector_type_cannot_have_is_refused(extension):
    x, y = torch.arange(8.0), torch.zeros(1)
    extension.sum4(x, y)
    assert y.item() == 6
    with pytest.raises(ValueError, match=r"x .* at an address that is a multiple of 16"):
        extension.sum4(x[1:5], y)


def test_parameters_and_empty_tensors_are_tensors(extension):
    y = torch.zeros(3)
    extension.copy_float(torch.nn.Parameter(torch.ones(3)), y, 3)
    assert y.tolist() == [1, 1, 1]
    extension.copy_float(torch.zeros(0), torch.zeros(0), 0)


def test_only_an_optional_tensor_may_be_left_out(extension):
    x, y = torch.ones(1), torch.zeros(1)
    extension.add_bias(x, y)
    assert y.item() == 101
    extension.add_bias(x, y, None)
    assert y.item() == 101
    extension.add_bias(x, y, torch.full((1,), 2.0))
    assert y.item() == 3
    with pytest.raises(TypeError, match="bias must be"):
        extension.add_bias(x, y, 2.0)


def test_void_pointers_take_any_dtype_and_keywords_are_renamed(extension):
    extension.touch(in_=torch.zeros(1, dtype=torch.int8), type_=torch.zeros(2, dtype=torch.complex64))


def test_a_status_is_raised_whether_returned_or_left_behind(extension):
    extension.status(0)
    with pytest.raises(RuntimeError, match=r"^status returned 1 \(as a cudaError_t: "):
        extension.status(1)
    with pytest.raises(RuntimeError, match=r"^fill returned 9 "):  # a block of 4096 threads
        extension.fill(torch.zeros(4096), 4096, 1.0)
    x = torch.zeros(8)
    extension.fill(x, 8, 2.0)  # the error before is not reported again
    assert x.tolist() == [2.0] * 8


def test_a_wrong_number_of_arguments_is_pythons_own_error(extension):
    with pytest.raises(TypeError, match=r"copy_float\(\) missing 1 required positional argument: 'n'"):
        extension.copy_float(torch.zeros(1), torch.zeros(1))


def test_traffic_and_launches_are_counted(extension):
    extension.reset_counters()
    assert extension.counters() == {"bytes": 0, "launches": 0, "library_flops": 0}
    for _ in range(3):
        extension.copy_float(torch.zeros(64), torch.zeros(64), 64)
    extension.add_bias(torch.ones(1), torch.zeros(1))
    assert extension.counters() == {"bytes": 3 * 2 * 256 + 8, "launches": 3, "library_flops": 0}


def test_the_module_is_readable_and_tells_the_launchers_prototype(extension, build):
    text = (build.folder / "cuda_extension.py").read_text()
    assert "warpsmith" not in text.replace("warpsmith_counters", "")
    assert extension.__doc__.startswith("Python functions for the CUDA launchers in libcandidate.so")
    assert extension.fill.__doc__.startswith(
        "void fill(float* x, int n, float value, cudaStream_t stream): kernels/k.cu:"
    )
    compile(text, "cuda_extension.py", "exec")


def test_the_module_ships_with_its_library_alone(build, tmp_path):
    for name in ("cuda_extension.py", "libcandidate.so"):
        (tmp_path / name).write_bytes((build.folder / name).read_bytes())
    script = """import cuda_extension, torch
y = torch.zeros(1)
cuda_extension.add_bias(torch.ones(1), y)
print(y.item())"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("101.0\n", "")


def test_the_gpus_module_checks_the_device_and_passes_the_stream(build):
    text = extension_source(build.launchers, "cuda")
    assert "_current_stream(_device)" in text
    assert "x.get_device() != _device" in text
    assert "TRAFFIC" not in text
    compile(text, "cuda_extension.py", "exec")


def test_every_vector_type_has_an_element_that_has_a_dtype():
    assert all(element in POINTER_DTYPES for element, _ in VECTORS.values())


def test_a_prototype_reads_as_c():
    assert prototype(Launcher(name="f", parameters=(), has_stream=False)) == "int f()"
