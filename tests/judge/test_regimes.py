"""Train mode, gradients, other dtypes, torch's settings, other sizes: what is compared beside an answer."""

import pytest
import torch

from warpsmith.core import (
    Crashed,
    Dtype,
    OffShape,
    Passed,
    Precision,
    PrecisionClass,
    Rejected,
    TaskError,
    Wrong,
)
from warpsmith.judge import flags

TRACKING = """
import torch

rows = 64


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(33))
        self.register_buffer("num_calls", torch.tensor(0))

    def forward(self, x):
        if self.training:
            self.mean.mul_(0.9).add_(0.1 * x[0])
            self.num_calls.add_(1)
        return torch.relu(x * 1.5)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(rows, 33)]
"""

KERNEL = """
#include <cuda_runtime.h>
__global__ void relu_kernel(const float* x, float* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = fmaxf(1.5f * x[i], 0.0f);
}
extern "C" int scaled_relu(const float* x, float* y, int count, cudaStream_t stream) {
  relu_kernel<<<(count + 255) / 256, 256, 0, stream>>>(x, y, count);
  return (int)cudaGetLastError();
}
__global__ void mean_kernel(const float* x, float* mean, int count) {
  int i = threadIdx.x;
  if (i < count) mean[i] = 0.9f * mean[i] + 0.1f * x[i];
}
extern "C" int track(const float* x, float* mean, int count, cudaStream_t stream) {
  mean_kernel<<<1, 64, 0, stream>>>(x, mean, count);
  return (int)cudaGetLastError();
}
__global__ void one_kernel(long long* calls) { calls[0] += 1; }
extern "C" int counted(long long* calls, cudaStream_t stream) {
  one_kernel<<<1, 1, 0, stream>>>(calls);
  return (int)cudaGetLastError();
}
__global__ void product_kernel(const float* x, const float* weight, float* y, int count, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = fmaxf(x[i] * weight[i % cols], 0.0f);
}
extern "C" int scaled(const float* x, const float* weight, float* y, int count, int cols, cudaStream_t stream)
{
  product_kernel<<<(count + 255) / 256, 256, 0, stream>>>(x, weight, y, count, cols);
  return (int)cudaGetLastError();
}
__global__ void gradient_kernel(const float* grad, const float* x, const float* weight, const float* y,
                                float* by_input, float* by_weight, int rows, int cols, int summed) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  float sum = 0.0f;
  for (int row = 0; row < rows; ++row) {
    int i = row * cols + col;
    float passed = y[i] > 0.0f ? grad[i] : 0.0f;
    by_input[i] = passed * weight[col];
    if (row < summed) sum += passed * x[i];
  }
  by_weight[col] = sum;
}
extern "C" int gradients(const float* grad, const float* x, const float* weight, const float* y,
                         float* by_input, float* by_weight, int rows, int cols, int summed,
                         cudaStream_t stream) {
  int blocks = (cols + 63) / 64;
  gradient_kernel<<<blocks, 64, 0, stream>>>(grad, x, weight, y, by_input, by_weight, rows, cols, summed);
  return (int)cudaGetLastError();
}
"""

TRACKER = """
import cuda_extension
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(33))
        self.register_buffer("num_calls", torch.tensor(0))

    def forward(self, x):
        y = torch.empty_like(x)
        cuda_extension.scaled_relu(x, y, x.numel())
        {update}
        return y
"""

UPDATE = """if self.training:
            cuda_extension.track(x[0], self.mean, 33)
            cuda_extension.counted(self.num_calls)"""

DIFFERENTIABLE = """
import cuda_extension
import torch


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        y = torch.empty_like(x)
        cuda_extension.scaled(x, weight, y, x.numel(), x.shape[1])
        ctx.save_for_backward(x, weight, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        x, weight, y = ctx.saved_tensors
        by_input, by_weight = torch.empty_like(x), torch.empty_like(weight)
        rows, cols = x.shape
        summed = rows
        {backward}
        cuda_extension.gradients(grad.contiguous(), x, weight, y, by_input, by_weight, rows, cols, summed)
        return by_input, by_weight if summed >= 0 else None


class ModelNew(torch.nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(cols))

    def forward(self, x):
        return Scaled.apply(x, self.weight)
"""

RIGHT = "pass"


@pytest.fixture(scope="module")
def tracking_judge(in_process):
    with in_process(TRACKING, is_training=True) as judge:
        yield judge


@pytest.fixture(scope="module")
def gradient_judge(in_process, scaled_source):
    with in_process(scaled_source, has_backward=True) as judge:
        yield judge


def tracker(scaled, update=UPDATE):
    return scaled(module=TRACKER.replace("{update}", update), kernel=KERNEL)


def differentiable(scaled, backward=RIGHT, module=DIFFERENTIABLE):
    return scaled(module=module.replace("{backward}", backward), kernel=KERNEL)


# --- train mode ---


def test_in_train_mode_buffers_are_part_of_the_answer(tracking_judge, scaled):
    assert isinstance(tracking_judge.verify(tracker(scaled)), Passed)


@pytest.mark.parametrize(
    ("update", "buffer"),
    [
        ("cuda_extension.counted(self.num_calls)", "the buffer mean"),
        ("cuda_extension.track(x[0], self.mean, 33)", "the buffer num_calls"),
        (f"{UPDATE}\n        cuda_extension.counted(self.num_calls)", "num_calls"),
    ],
    ids=["not the floating one", "not the integer", "twice"],
)
def test_buffers_that_were_not_updated_as_the_reference_does_are_wrong(
    tracking_judge, scaled, update, buffer
):
    verdict = tracking_judge.verify(tracker(scaled, update))
    assert isinstance(verdict, Wrong)
    assert buffer in verdict.message


def test_in_eval_mode_buffers_must_stay_as_they_are(in_process, scaled):
    with in_process(TRACKING) as judge:
        assert isinstance(judge.verify(tracker(scaled)), Passed)
        verdict = judge.verify(tracker(scaled, "cuda_extension.counted(self.num_calls)"))
    assert isinstance(verdict, Wrong)
    assert verdict.what == "parameters changed"
    assert "num_calls" in verdict.message


def test_dropout_in_train_mode_cannot_be_judged(in_process):
    source = TRACKING.replace("torch.relu(x * 1.5)", "torch.nn.functional.dropout(x, 0.5, self.training)")
    with pytest.raises(TaskError, match=r"random numbers .* train mode, so give dropout modules p=0"):
        in_process(source, is_training=True).__enter__()


# --- gradients ---


def test_gradients_of_inputs_and_parameters_are_compared(gradient_judge, scaled):
    assert isinstance(gradient_judge.verify(differentiable(scaled)), Passed)


@pytest.mark.parametrize(
    ("backward", "says"),
    [
        ("summed = 0", "the gradient of weight"),
        ("summed = -1", "the gradient of weight"),
        ("weight = x", "the gradient of input 0"),
        ("summed = 32", "the gradient of weight"),
    ],
    ids=["zeros", "none", "of the input", "of half the rows"],
)
def test_a_wrong_gradient_is_named(gradient_judge, scaled, backward, says):
    verdict = gradient_judge.verify(differentiable(scaled, backward))
    assert isinstance(verdict, Wrong)
    assert says in verdict.message


@pytest.mark.parametrize(
    "backward", ["grad = grad * 1.0", "grad = torch.Tensor.mul(grad, 1.0)", "grad.sum(0)"]
)
def test_arithmetic_by_torch_in_a_backward_of_its_own_is_refused(gradient_judge, scaled, backward):
    verdict = gradient_judge.verify(differentiable(scaled, backward))
    assert isinstance(verdict, Rejected)
    assert verdict.rule == "torch-compute"
    assert "model_new.py:" in verdict.where


def test_what_autograd_itself_computes_is_not_the_candidates(gradient_judge, scaled):
    twice = DIFFERENTIABLE.replace(
        "Scaled.apply(x, self.weight)", "Scaled.apply(x.expand_as(x), self.weight)"
    )
    assert isinstance(gradient_judge.verify(differentiable(scaled, module=twice)), Passed)


def test_an_answer_without_a_graph_says_what_is_missing(gradient_judge, scaled):
    module = DIFFERENTIABLE.replace("Scaled.apply(x, self.weight)", "Scaled.apply(x, self.weight).detach()")
    verdict = gradient_judge.verify(differentiable(scaled, module=module))
    assert isinstance(verdict, Crashed)
    assert "torch.autograd.Function" in verdict.log


def test_a_backward_that_raises_crashes_with_its_own_lines(gradient_judge, scaled):
    verdict = gradient_judge.verify(differentiable(scaled, "grad.no_such_thing"))
    assert isinstance(verdict, Crashed)
    assert "no_such_thing" in verdict.log


def test_a_reference_without_gradients_cannot_be_judged_with_them(in_process):
    source = TRACKING.replace("torch.relu(x * 1.5)", "torch.relu(x * 1.5).detach()")
    with pytest.raises(TaskError, match="no output of the reference has a gradient"):
        in_process(source, has_backward=True).__enter__()


# --- dtypes ---

CAST = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(33))
        self.register_buffer("offset", torch.randn(33))
        self.register_buffer("index", torch.arange(33))

    def forward(self, x, rows):
        {forward}


def get_init_inputs():
    return []


def get_inputs():
    return [{x}, torch.arange(5)]
"""


def cast(forward="return x[rows] * self.weight + self.offset[self.index]", x="torch.randn(65, 33)"):
    return CAST.replace("{forward}", forward).replace("{x}", x)


@pytest.mark.parametrize(("dtype", "is_half"), [("fp16", True), ("bf16", True), ("fp32", False)])
def test_floating_inputs_weights_and_buffers_are_cast_and_integers_kept(in_process, scaled, dtype, is_half):
    wanted = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}[dtype]
    module = TRACKER.replace("{update}", "").replace(
        'self.register_buffer("mean", torch.zeros(33))',
        "self.weight = torch.nn.Parameter(torch.randn(33)); "
        'self.register_buffer("offset", torch.zeros(33)); self.register_buffer("index", torch.arange(33))',
    )
    module = module.replace('self.register_buffer("num_calls", torch.tensor(0))', "")
    check = (
        f"assert x.dtype == self.weight.dtype == self.offset.dtype == torch.{wanted}\n"
        "        assert rows.dtype == self.index.dtype == torch.int64\n"
        "        raise ValueError('as asked')"
    )
    module = module.replace("def forward(self, x):", f"def forward(self, x, rows):\n        {check}")
    with in_process(cast(), dtype=Dtype(dtype)) as judge:
        verdict = judge.verify(scaled(module=module, kernel=KERNEL))
    assert isinstance(verdict, Crashed)
    assert "as asked" in verdict.log
    assert judge.task.dtype is Dtype(dtype)
    assert is_half == (dtype != "fp32")


@pytest.mark.parametrize(
    ("source", "dtype", "says"),
    [
        (cast(x="1e6 * torch.randn(65, 33)"), Dtype.FP16, "tensor 0 of the inputs holds numbers that fp16"),
        (
            cast().replace("torch.randn(33))\n        self.reg", "1e6 * torch.randn(33))\n        self.reg"),
            Dtype.FP16,
            "weight holds numbers that fp16 cannot",
        ),
        (
            cast("h = torch.zeros(33, 33); return x @ h + self.weight"),
            Dtype.BF16,
            r"cannot run in bf16: RuntimeError.*\(line 13\); let forward make its tensors like its inputs",
        ),
    ],
    ids=["inputs", "weights", "states"],
)
def test_a_task_that_a_dtype_does_not_fit_says_why(in_process, source, dtype, says):
    with pytest.raises(TaskError, match=says):
        in_process(source, dtype=dtype).__enter__()


# --- torch's settings ---


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("torch.backends.cudnn.benchmark = True", "cudnn.benchmark"),
        ("torch.backends.cuda.matmul.allow_tf32 = True", "cuda.matmul.allow_tf32"),
        ("torch.backends.cudnn.allow_tf32 = True", "cudnn.allow_tf32"),
        ("torch.backends.cudnn.conv.fp32_precision = 'tf32'", "cudnn.allow_tf32"),
        ("torch.set_default_dtype(torch.float64)", "default_dtype"),
    ],
    ids=["benchmark", "matmul", "cudnn", "the other interface", "dtype"],
)
def test_the_settings_of_torch_are_watched(change, name):
    flags.pin(Precision.REFERENCE, "cpu")
    before = flags.snapshot()
    try:
        exec(change, {"torch": torch})
        found = flags.flipped(before)
    finally:
        torch.backends.cudnn.conv.fp32_precision = "none"
        flags.pin(Precision.REFERENCE, "cpu")
    assert any(line.startswith(f"{name} was") for line in found)
    assert flags.flipped(before) == ()


def test_under_tf32_a_program_may_switch_it_on_and_off_for_itself():
    flags.pin(Precision.TF32, "cpu")
    before = flags.snapshot()
    try:
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.allow_tf32 = True
        assert flags.flipped(before, Precision.TF32) == ()
        assert flags.flipped(before, Precision.REFERENCE) != ()
    finally:
        flags.pin(Precision.REFERENCE, "cpu")


@pytest.mark.parametrize("policy", list(Precision))
def test_a_policy_is_the_same_for_products_and_convolutions(policy):
    with flags.pinned(policy, "cuda", then=Precision.REFERENCE):
        pinned = flags.snapshot()
    is_on = str(policy is Precision.TF32)
    assert pinned["cuda.matmul.allow_tf32"] == pinned["cudnn.allow_tf32"] == is_on
    assert flags.snapshot()["cudnn.allow_tf32"] == "False"


def test_a_setting_that_stays_changed_is_refused(scaled_judge, scaled):
    forward = """        y = torch.empty_like(x)
        getattr(torch.backends, "cudnn").benchmark = True
        cuda_extension.scaled(x, self.weight, y, x.numel(), x.shape[1])
        return y
"""
    try:
        verdict = scaled_judge.verify(scaled(forward))
    finally:
        torch.backends.cudnn.benchmark = False
    assert isinstance(verdict, Rejected)
    assert (verdict.rule, "cudnn.benchmark was False" in verdict.message) == ("flags", True)


def test_the_record_says_what_was_set(scaled_judge):
    environment = scaled_judge.environment()
    assert environment["cudnn.allow_tf32"] == environment["cudnn.benchmark"] == "False"


# --- precision, and other sizes ---


def test_a_verdict_names_the_precision(scaled_judge, scaled):
    assert scaled_judge.verify(scaled()).precision is PrecisionClass.FP32


def test_a_program_for_every_size_is_labelled_right_at_another(tracking_judge, scaled):
    (label,) = tracking_judge.verify(tracker(scaled)).off_shapes
    assert label == OffShape(scale=33 / 64, is_right=True, message="rows times 0.516")


@pytest.mark.parametrize(
    ("count", "says"),
    [("64 * 33", "structure|elements off|crashes"), ("len(x) // 64 * 64 * 33", "elements off")],
    ids=["fixed", "whole blocks"],
)
def test_a_program_for_one_size_passes_with_a_label(tracking_judge, scaled, count, says):
    module = TRACKER.replace("{update}", UPDATE).replace("x.numel()", count)
    if count == "64 * 33":
        module = module.replace("torch.empty_like(x)", "torch.empty(64, 33)")
    verdict = tracking_judge.verify(scaled(module=module, kernel=KERNEL))
    assert isinstance(verdict, Passed)
    (label,) = verdict.off_shapes
    assert not label.is_right
    assert label.message.startswith("rows times 0.516: ")
    assert any(part in label.message for part in ("shape", "elements off", "crashes"))


def test_a_program_that_raises_at_another_size_still_passes(tracking_judge, scaled):
    module = TRACKER.replace("{update}", UPDATE).replace(
        "y = torch", "assert len(x) == 64\n        y = torch"
    )
    verdict = tracking_judge.verify(scaled(module=module, kernel=KERNEL))
    assert isinstance(verdict, Passed)
    assert "crashes (AssertionError" in verdict.off_shapes[0].message
