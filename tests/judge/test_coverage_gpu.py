"""On a GPU: kernels by name in a graph, their share of time, and what a call gives without them."""

from contextlib import ExitStack

import pytest

from warpsmith.core import Candidate, Passed, Rejected, Task, Track
from warpsmith.device import select_device
from warpsmith.judge import Judge
from warpsmith.sandbox import pick
from warpsmith.toolchain import Store, Toolchain

pytestmark = pytest.mark.gpu

TASK = """
import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width, width))

    def forward(self, x):
        return {answer}


def get_init_inputs():
    return [{width}]


def get_inputs():
    return [torch.randn(512, {width})]
"""

KERNEL = """
#include <cuda_runtime.h>
template <class T> __global__ void rectify_all(const T* x, T* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] > T(0) ? x[i] : T(0);
}
extern "C" int rectify(const float* x, float* y, int count, cudaStream_t stream) {
  rectify_all<<<(count + 255) / 256, 256, 0, STREAM>>>(x, y, count);
  return (int)cudaGetLastError();
}
"""

MODULE = """
import cuda_extension
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(width, width))
        self.graph = None

    def forward(self, x):
        {forward}
"""
HONEST = (
    "z = x @ self.weight",
    "y = torch.empty_like(z)",
    "cuda_extension.rectify(z, y, z.numel())",
    "return y",
)
GRAPH = (
    "if self.graph is None:",
    "    self.x, self.graph = x.clone(), torch.cuda.CUDAGraph()",
    "    torch.mm(self.x, self.weight)",
    "    with torch.cuda.graph(self.graph):",
    "        z = self.x @ self.weight",
    "        self.y = torch.empty_like(z)",
    "        cuda_extension.rectify(z, self.y, z.numel())",
    "self.x.copy_(x)",
    "self.graph.replay()",
    "return self.y.clone()",
)
DECOY = (
    "z = (x @ self.weight)",
    "y = torch.empty_like(z)",
    "cuda_extension.rectify(z, y, z.numel())",
    "return torch._addmm_activation(x.new_zeros(self.weight.shape[1]), x, self.weight)",
)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    device, sandbox = select_device("cuda"), pick()
    toolchain = Toolchain(device=device, store=Store(tmp_path_factory.mktemp("store")), runner=sandbox)
    with ExitStack() as stack:

        def judge(answer):
            source = TASK.replace("{width}", "1024").replace("{answer}", answer)
            task = Task(task_id=answer, source=source, provenance="tests")
            return stack.enter_context(Judge(task, device=device, sandbox=sandbox, toolchain=toolchain))

        yield judge


@pytest.fixture(scope="module")
def rectified(opened):
    return opened("torch.relu(x @ self.weight)")


@pytest.fixture(scope="module")
def product(opened):
    return opened("x @ self.weight")


def candidate(*forward, stream="stream"):
    text = MODULE.replace("{forward}", "\n        ".join(forward))
    return Candidate.of({"model_new.py": text, "kernels/a.cu": KERNEL.replace("STREAM", stream)})


@pytest.mark.parametrize("stream", ["stream", "0"], ids=["current stream", "legacy stream"])
def test_a_shared_call_says_who_did_which_part(rectified, stream):
    verdict = rectified.verify(candidate(*HONEST, stream=stream))
    assert isinstance(verdict, Passed), verdict
    coverage = verdict.coverage
    assert coverage.track is Track.LIBRARIES
    assert len(coverage.own_kernels) == 1
    assert "rectify_all<float>" in coverage.own_kernels[0]
    assert 0.0 < coverage.own_share < 0.9
    assert "mm" in coverage.library_kernels
    assert verdict.advice == ()


def test_a_graph_of_the_programs_own_is_no_hindrance(rectified):
    verdict = rectified.verify(candidate(*GRAPH))
    assert isinstance(verdict, Passed), verdict
    assert "rectify_all<float>" in verdict.coverage.own_kernels[0]


def test_a_program_that_does_not_need_its_kernel_is_refused(rectified):
    verdict = rectified.verify(candidate(*DECOY))
    assert isinstance(verdict, Rejected), verdict
    assert verdict.rule in ("own-kernels", "torch-compute")


def test_a_library_alone_is_refused(product):
    verdict = product.verify(candidate("return x @ self.weight"))
    assert isinstance(verdict, Rejected), verdict
    assert verdict.rule == "own-kernels"


@pytest.mark.parametrize("stream", ["stream", "0"], ids=["current stream", "legacy stream"])
def test_a_kernel_beside_the_answer_is_a_decoy(product, stream):
    forward = (*HONEST[:3], "return z")
    verdict = product.verify(candidate(*forward, stream=stream))
    assert isinstance(verdict, Rejected), verdict
    assert verdict.rule == "own-kernels"


def test_a_program_that_cannot_be_captured_is_timed_all_the_same(rectified):
    verdict = rectified.measure(candidate(*HONEST[:3], "torch.cuda.synchronize()", HONEST[3]))
    assert isinstance(verdict, Passed), verdict
    assert verdict.timing.trouble == ""
