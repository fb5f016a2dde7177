"""What only a GPU shows: the current stream, a launch that fails, cuBLAS beside torch's own."""

import pytest
import torch

from warpsmith.device import select_device
from warpsmith.toolchain import Build, Toolchain

pytestmark = pytest.mark.gpu

KERNELS = """#include <cuda_runtime.h>
#include <cuda_bf16.h>
__global__ void add_kernel(const float* x, float* y, long long n, float by) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + by;
}
extern "C" int add(const float* x, float* y, long long n, float by, cudaStream_t stream) {
    if (n > 0) add_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n, by);
    return (int)cudaGetLastError();
}
extern "C" void too_large(float* x, cudaStream_t stream) { add_kernel<<<1, 4096, 0, stream>>>(x, x, 0, 0); }
extern "C" int copy_bf16(const __nv_bfloat16* x, __nv_bfloat16* y, int n, cudaStream_t stream) {
    return (int)cudaMemcpyAsync(y, x, n * sizeof(__nv_bfloat16), cudaMemcpyDeviceToDevice, stream);
}
"""

BLAS = """#include <cublas_v2.h>
#include <cublasLt.h>
extern "C" cublasStatus_t gemm(const float* a, const float* b, float* c, int n, cudaStream_t stream) {
    static cublasHandle_t handle = nullptr;
    if (handle == nullptr && cublasCreate(&handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
    cublasSetStream(handle, stream);
    const float one = 1.0f, zero = 0.0f;
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b, n, a, n, &zero, c, n);
}
extern "C" int lt_version(void) { return cublasLtGetVersion() > 0 ? 0 : 1; }
"""


@pytest.fixture(scope="module")
def build(shared_store, direct, program):
    return Toolchain(select_device("cuda"), shared_store, direct).build(program(kernels=KERNELS, blas=BLAS))


@pytest.fixture(scope="module")
def extension(build, load):
    return load(build)


def test_a_kernel_runs_and_is_reported(build, extension):
    assert isinstance(build, Build)
    (kernel,) = build.resources
    assert kernel.kernel.startswith("add_kernel(")
    x = torch.randn(1000, device="cuda")
    y = torch.empty_like(x)
    extension.add(x, y, 1000, 1.0)
    assert torch.equal(y, x + 1)
    extension.add(x[:0], y[:0], 0, 1.0)


def test_kernels_go_to_the_current_stream(extension):
    x, graph = torch.zeros(256, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # fails to capture what goes to another stream
        extension.add(x, x, 256, 1.0)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert x.eq(3).all()


def test_bfloat16_goes_through(extension):
    x = torch.randn(100, device="cuda", dtype=torch.bfloat16)
    y = torch.zeros_like(x)
    extension.copy_bf16(x, y, 100)
    assert torch.equal(x, y)


def test_a_launch_that_fails_is_raised_with_its_reason_and_does_not_stick(extension):
    x = torch.zeros(1, device="cuda")
    with pytest.raises(RuntimeError, match=r"^too_large returned \d+ .*invalid .*argument"):
        extension.too_large(x)
    extension.add(x, x, 1, 1.0)
    assert x.item() == 1


def test_a_tensor_elsewhere_is_refused(extension):
    x = torch.zeros(1, device="cuda")
    with pytest.raises(
        ValueError, match=r"add: y must be a contiguous tensor of float32 on cuda:0; got .* on cpu"
    ):
        extension.add(x, torch.zeros(1), 1, 1.0)


def test_cublas_of_a_program_and_torchs_own_work_side_by_side(extension):
    a, b = (torch.randn(256, 256, device="cuda") for _ in range(2))
    before, c = a @ b, torch.empty_like(a)
    extension.gemm(a, b, c, 256)
    extension.lt_version()
    assert torch.allclose(before, c, rtol=1e-4, atol=1e-3)
    assert torch.equal(before, a @ b)
