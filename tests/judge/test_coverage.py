"""A program whose own kernels do nothing for its answer is refused; one that shares the work is told so."""

import pytest

from warpsmith.core import Candidate, Passed, Rejected, Track

PRODUCT = """
import torch


class Model(torch.nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(cols, 24))

    def forward(self, x):
        return {answer}


def get_init_inputs():
    return [33]


def get_inputs():
    return [torch.randn(65, 33)]
"""

KERNEL = """
#include <cuda_runtime.h>
__global__ void rectify_all(const float* x, float* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = fmaxf(x[i], 0.0f);
}
extern "C" int rectify(const float* x, float* y, int count, cudaStream_t stream) {
  rectify_all<<<(count + 255) / 256, 256, 0, stream>>>(x, y, count);
  return (int)cudaGetLastError();
}
__global__ void add_nothing(float* x, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[i] += 0.0f;
}
extern "C" int decorate(float* x, int count, cudaStream_t stream) {
  add_nothing<<<(count + 255) / 256, 256, 0, stream>>>(x, count);
  return (int)cudaGetLastError();
}
"""

MODULE = """
import cuda_extension
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(cols, 24))
        self.kept = None

    def forward(self, x):
        {forward}
"""

RECTIFIED = "y = torch.empty_like(z); cuda_extension.rectify(z, y, z.numel())"


def candidate(*forward):
    text = MODULE.replace("{forward}", "\n        ".join(forward))
    return Candidate.of({"model_new.py": text, "kernels/a.cu": KERNEL})


@pytest.fixture(scope="module")
def product_judge(in_process):
    with in_process(PRODUCT.replace("{answer}", "x @ self.weight")) as judge:
        yield judge


@pytest.fixture(scope="module")
def rectified_judge(in_process):
    with in_process(PRODUCT.replace("{answer}", "torch.relu(x @ self.weight)")) as judge:
        yield judge


CHEATS = {
    "no kernel": ("return x @ self.weight",),
    "ghost branch": (
        "z = x @ self.weight",
        "if x.shape[0] < 0: cuda_extension.decorate(z, z.numel())",
        "return z",
    ),
    "decoy beside": (
        "other = torch.zeros(8, device=x.device); cuda_extension.decorate(other, 8)",
        "return torch.mm(x, self.weight)",
    ),
    "decoy on the answer": (
        "z = torch.mm(x, self.weight)",
        "cuda_extension.decorate(z, z.numel())",
        "return z",
    ),
    "thrown away": ("z = x @ self.weight", RECTIFIED, "return z"),
    "a fall back": (
        "try:",
        "    cuda_extension.absent(x)",
        "except AttributeError:",
        "    return x @ self.weight",
    ),
}


@pytest.mark.parametrize("forward", CHEATS.values(), ids=CHEATS)
def test_a_program_that_does_not_need_its_kernels_is_refused(product_judge, forward):
    verdict = product_judge.verify(candidate(*forward))
    assert isinstance(verdict, Rejected), verdict
    assert verdict.rule == "own-kernels"


HONEST = {
    "a product by torch, the rest by a kernel": ("z = x @ self.weight", RECTIFIED, "return y"),
    "a linear layer": ("z = torch.nn.functional.linear(x, self.weight.t())", RECTIFIED, "return y"),
    "a kept buffer between": (
        "if self.kept is None: self.kept = torch.empty(65, 24, device=x.device)",
        "torch.mm(x, self.weight, out=self.kept); z = self.kept",
        RECTIFIED,
        "return y",
    ),
    "weights prepared once, with arithmetic": (
        "if self.kept is None: self.kept = (self.weight * 2.0).div(2.0).contiguous()",
        "z = x @ self.kept",
        RECTIFIED,
        "return y",
    ),
    "in place": ("z = x @ self.weight", "cuda_extension.rectify(z, z, z.numel())", "return z"),
    "a look at the input": (
        "n = int(x[0, 0].item() * 0) + x.numel()",
        "z = x @ self.weight",
        RECTIFIED,
        "return y",
    ),
    "padding and joining": (
        "z = torch.nn.functional.pad(torch.cat([x, x]), (0, 3))[:65, :33] @ self.weight",
        RECTIFIED,
        "return y",
    ),
}


@pytest.mark.parametrize("forward", HONEST.values(), ids=HONEST)
def test_a_program_that_needs_its_kernels_passes_and_says_who_did_the_rest(rectified_judge, forward):
    verdict = rectified_judge.verify(candidate(*forward))
    assert isinstance(verdict, Passed), verdict
    assert verdict.coverage.track is Track.LIBRARIES
    assert verdict.coverage.own_kernels == ("rectify_all",)
    assert set(verdict.coverage.library_kernels) & {"mm", "addmm"}
    assert verdict.coverage.own_share is None
    assert verdict.gates == ("rules", "build", "symbols", "load", "forward", "numbers", "coverage")


def test_a_program_of_kernels_alone_is_pure(scaled_judge, scaled):
    verdict = scaled_judge.verify(scaled())
    assert verdict.coverage.track is Track.PURE
    assert verdict.coverage.own_kernels == ("kernel",)
    assert verdict.coverage.library_kernels == ()
    assert verdict.advice == ()


@pytest.mark.parametrize(
    "forward",
    [
        ("return torch.relu(x @ self.weight)",),
        ("z = x @ self.weight", RECTIFIED, "return y * 1.0"),
        ("z = x @ self.weight", RECTIFIED, "return torch.ops.aten.relu(y)"),
        ("import numpy as np", "return torch.from_numpy(np.maximum(x.numpy() @ self.weight.numpy(), 0))"),
        (
            "z = x @ self.weight",
            "return torch.tensor([max(v, 0.0) for v in z.view(-1).tolist()]).view(65, 24)",
        ),
    ],
)
def test_arithmetic_of_torchs_or_numpys_is_refused(rectified_judge, forward):
    verdict = rectified_judge.verify(candidate(*forward))
    assert isinstance(verdict, Rejected), verdict
    assert verdict.rule == "torch-compute"


def test_a_ghost_of_torch_is_advice(rectified_judge):
    forward = ("z = x @ self.weight", "if x.dim() > 2: return torch.relu(z)", RECTIFIED, "return y")
    verdict = rectified_judge.verify(candidate(*forward))
    assert isinstance(verdict, Passed)
    assert ["torch.relu" in line for line in verdict.advice] == [True]
