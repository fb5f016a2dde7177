"""Which answers the tolerance lets through, and which arithmetic it says they come from.

Each task is small, but long enough in its sums for rounding to show. `HONEST` programs compute in fp32, in an
order or by a formula of their own; all must pass. Everything in `CHEATS` and `COARSE` must not.
"""

import math

import pytest
import torch
from torch.nn import functional

from warpsmith.core import Precision, PrecisionClass, Tolerance
from warpsmith.judge.oracle.compare import deviation, settled
from warpsmith.judge.oracle.examination import examine, target_leaves
from warpsmith.judge.oracle.reference import Reference
from warpsmith.judge.oracle.rounding import cut_off, nearest
from warpsmith.judge.protocol import Open, Regime

SOURCE = """
import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, *given):
        {forward}


def get_init_inputs():
    return []


def get_inputs():
    return [{inputs}]
"""

TASKS = {
    "gemm": ("return given[0] @ given[1]", "torch.randn(32, 2048), torch.randn(2048, 48)", "pass"),
    "positive": ("return given[0] @ given[1]", "torch.rand(32, 2048), torch.rand(2048, 48)", "pass"),
    "conv": ("return self.conv(given[0])", "torch.rand(2, 16, 20, 20)", "self.conv = nn.Conv2d(16, 32, 3)"),
    "exp": ("return given[0].exp()", "3 * torch.randn(64, 512)", "pass"),
    "sigmoid": ("return given[0].sigmoid()", "torch.randn(64, 512)", "pass"),
    "chain": ("return functional.silu(given[0] * 1.7) + given[0]", "torch.randn(64, 512)", "pass"),
    "softmax": ("return given[0].softmax(-1)", "torch.randn(32, 2048)", "pass"),
    "layernorm": ("return functional.layer_norm(given[0], (1024,))", "torch.randn(64, 1024)", "pass"),
    "shifted": ("return functional.layer_norm(given[0], (1024,))", "torch.rand(64, 1024)", "pass"),
    "cumsum": ("return given[0].cumsum(1)", "torch.randn(16, 2048)", "pass"),
    "mean": ("return given[0].mean(1)", "torch.rand(8, 2048, 32)", "pass"),
    "loss": ("return functional.cross_entropy(*given)", "torch.randn(256, 512), torch.arange(256)", "pass"),
    "l1": (
        "return (given[0] - given[1]).abs().mean()",
        "torch.rand(512, 1024), torch.rand(512, 1024)",
        "pass",
    ),
    "tiny": ("return 1e-6 * given[0].tanh()", "torch.randn(64, 64)", "pass"),
}


class Judged:
    """A task that was examined on the CPU, and the judge's word on an answer to it."""

    def __init__(self, name, folder, precision):
        forward, inputs, init = TASKS[name]
        path = folder / f"{name}-{precision}.py"
        path.write_text(SOURCE.format(forward=forward, inputs=inputs, init=init))
        regime = Regime(precision=precision)
        request = Open(
            source=path,
            folder=folder,
            device="cpu",
            seed=7,
            num_inputs=1,
            tolerance=Tolerance(),
            regime=regime,
        )
        with torch.no_grad():
            reference = Reference(path, "cpu", 7, regime)
            examination = examine(reference, request)
        self.model, self.bound = reference.model, examination.bounds[0]
        self.inputs = examination.cases[0].inputs
        (self.goal,) = target_leaves(examination.cases[0].targets)

    def deviation(self, program):
        with torch.no_grad():
            answer = program(*self.inputs)
        return deviation(self.goal, settled(self.goal, answer), self.bound.allowed)

    def accepts(self, program):
        return self.deviation(program).num_wrong == 0

    def explains(self, program):
        return self.bound.explains(self.goal, self.deviation(program).rms)


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder, known = tmp_path_factory.mktemp("tasks"), {}

    def judged(name, precision=Precision.REFERENCE):
        if (name, precision) not in known:
            known[name, precision] = Judged(name, folder, precision)
        return known[name, precision]

    return judged


def in_turn(x, dim=0):
    """A sum in fp32, one number after another."""
    total = torch.zeros_like(x.select(dim, 0))
    for row in x.unbind(dim):
        total = total + row
    return total


def cumulated_in_turn(x):
    total, sums = torch.zeros_like(x[:, 0]), torch.empty_like(x)
    for index, column in enumerate(x.unbind(1)):
        total = total + column
        sums[:, index] = total
    return sums


def product(x, w, dtype=torch.float32):
    total = torch.zeros(x.shape[0], w.shape[1], dtype=dtype)
    for k in range(x.shape[1]):
        total = total + (x[:, k : k + 1] * w[k : k + 1]).to(dtype)
    return total.float()


def fast_exp(x):
    """What __expf does: a rounded product, and two units in the last place of ex2."""
    return torch.exp2(x * 1.4426950408889634) * (1 + 2.0**-22)


def two_pass(x):
    mean = in_turn(x, 1)[:, None] / x.shape[1]
    variance = in_turn((x - mean).square(), 1)[:, None] / x.shape[1]
    return (x - mean) * torch.rsqrt(variance + 1e-5)


def one_pass(x):
    mean, square = (in_turn(y, 1)[:, None] / x.shape[1] for y in (x, x * x))
    return (x - mean) * torch.rsqrt(square - mean * mean + 1e-5) * (1 + 2.0**-23)


def welford(x):
    mean, squares = torch.zeros(len(x)), torch.zeros(len(x))
    for index, column in enumerate(x.unbind(1)):
        step = column - mean
        mean = mean + step / (index + 1)
        squares = squares + step * (column - mean)
    return (x - mean[:, None]) / torch.sqrt(squares / x.shape[1] + 1e-5)[:, None]


def half(x):
    return x.half().float()


def bf16(x):
    return x.bfloat16().float()


def split(x, w, rounded):
    """A product of operands in two parts each: three products on tensor cores for one in fp32."""
    x_high, w_high = rounded(x), rounded(w)
    return x_high @ w_high + rounded(x - x_high) @ w_high + x_high @ rounded(w - w_high)


def log_sum_exp(x, targets):
    top = x.amax(1, keepdim=True)
    rows = top[:, 0] + fast_exp(x - top).sum(1).log() - x.gather(1, targets[:, None])[:, 0]
    return in_turn(rows) / len(x)


HONEST = {
    "gemm": {
        "one after another": product,
        "split over k": lambda x, w: x[:, :1000] @ w[:1000] + x[:, 1000:] @ w[1000:],
        "three tf32 products": lambda x, w: split(x, w, nearest(10)),
    },
    "positive": {"one after another": product},
    "exp": {"fast intrinsic": fast_exp},
    "sigmoid": {
        "by tanh": lambda x: 0.5 * torch.tanh(0.5 * x) + 0.5,
        "fast intrinsic": lambda x: 1 / (1 + fast_exp(-x)) * (1 + 2.0**-23),
    },
    "chain": {"fast intrinsic": lambda x: x * 1.7 / (1 + fast_exp(x * -1.7)) + x},
    "softmax": {
        "without maximum": lambda x: x.exp() / x.exp().sum(-1, keepdim=True),
        "one after another": lambda x: fast_exp(x) / in_turn(fast_exp(x), 1)[:, None],
    },
    "layernorm": {"two passes": two_pass, "one pass": one_pass, "welford": welford},
    "shifted": {"two passes": two_pass, "one pass": one_pass, "welford": welford},
    "cumsum": {"one after another": cumulated_in_turn},
    "mean": {"one after another": lambda x: in_turn(x, 1) / x.shape[1]},
    "loss": {"log of sums": log_sum_exp},
    "l1": {
        "atomics": lambda x, y: in_turn((x - y).abs().view(-1, 128).sum(1)) / x.numel(),
        "rows": lambda x, y: in_turn(in_turn((x - y).abs())) / x.numel(),
    },
    "tiny": {"the last bit": lambda x: (1e-6 * x.tanh()) * (1 + 2.0**-23)},
}

COARSE = {
    "gemm": {
        "tf32": (lambda x, w: nearest(10)(x) @ nearest(10)(w), PrecisionClass.TF32),
        "tf32 cut off": (lambda x, w: cut_off(10)(x) @ cut_off(10)(w), PrecisionClass.TF32),
        "fp16 operands": (lambda x, w: half(x) @ half(w), PrecisionClass.TF32),
        "bf16 operands": (lambda x, w: bf16(x) @ bf16(w), PrecisionClass.HALF),
        "fp16 sums": (lambda x, w: product(x.half(), w.half(), torch.float16), PrecisionClass.HALF),
    },
    "exp": {"bf16 operands": (lambda x: bf16(x).exp(), PrecisionClass.HALF)},
    "sigmoid": {"bf16 answer": (lambda x: bf16(x.sigmoid()), PrecisionClass.HALF)},
    "chain": {
        "bf16 operands": (lambda x: functional.silu(bf16(x) * 1.7) + bf16(x), PrecisionClass.HALF),
        "fp16 operands": (lambda x: functional.silu(half(x) * 1.7) + half(x), PrecisionClass.TF32),
    },
    "softmax": {"bf16 operands": (lambda x: bf16(x).softmax(-1), PrecisionClass.HALF)},
    "layernorm": {"fp16 operands": (lambda x: two_pass(half(x)), PrecisionClass.TF32)},
    "cumsum": {"bf16 operands": (lambda x: bf16(x).cumsum(1), PrecisionClass.HALF)},
    "mean": {"bf16 operands": (lambda x: bf16(x).mean(1), PrecisionClass.HALF)},
}


def one_changed(x, change):
    y = x.clone()
    y.view(-1)[y.numel() // 3] += change * float(x.square().mean().sqrt())
    return y


CHEATS = {
    "zeros": torch.zeros_like,
    "mean": lambda y: torch.full_like(y, float(y.mean())),
    "permuted rows": lambda y: y.roll(1, 0),
    "one wrong element": lambda y: one_changed(y, 0.1),
    "slightly larger": lambda y: y * 1.0001,
    "nan": lambda y: one_changed(y, math.nan),
    "infinity": lambda y: one_changed(y, math.inf),
}


def rows(table):
    return [
        pytest.param(task, name, id=f"{task}-{name}") for task, by_name in table.items() for name in by_name
    ]


@pytest.mark.parametrize(("task", "name"), rows(HONEST))
def test_an_honest_fp32_program_passes_and_is_called_one(judged, task, name):
    program = HONEST[task][name]
    assert judged(task).accepts(program), judged(task).deviation(program)
    assert judged(task).explains(program) is PrecisionClass.FP32


@pytest.mark.parametrize(("task", "name"), rows(COARSE))
def test_coarser_arithmetic_is_wrong_where_fp32_is_asked_for_and_named(judged, task, name):
    program, kind = COARSE[task][name]
    assert not judged(task).accepts(program)
    assert judged(task).explains(program) is kind


@pytest.mark.parametrize("cheat", CHEATS)
@pytest.mark.parametrize("task", ["gemm", "conv", "softmax", "layernorm", "cumsum", "tiny"])
def test_a_lazy_or_damaged_answer_is_wrong_under_either_policy(judged, task, cheat):
    for precision in Precision:
        found = judged(task, precision)
        answer = CHEATS[cheat](found.goal.value.float())
        if cheat == "slightly larger" and precision is Precision.TF32:
            continue
        assert not found.accepts(lambda *_, answer=answer: answer)


def test_a_convolution_on_rounded_operands_is_wrong_where_fp32_is_asked_for(judged):
    found = judged("conv")
    for rounded in (nearest(10), cut_off(10), bf16):
        assert not found.accepts(lambda x, r=rounded: convolved(found.model.conv, x, r))
    assert found.accepts(found.model.conv)


def convolved(conv, x, rounded):
    return functional.conv2d(rounded(x), rounded(conv.weight), conv.bias)


@pytest.mark.parametrize("name", ["tf32", "tf32 cut off"])
def test_tf32_passes_where_the_policy_allows_it_and_bf16_does_not(judged, name):
    found = judged("gemm", Precision.TF32)
    assert found.accepts(COARSE["gemm"][name][0])
    assert found.explains(COARSE["gemm"][name][0]) is PrecisionClass.TF32
    assert not found.accepts(COARSE["gemm"]["bf16 operands"][0])
    conv = judged("conv", Precision.TF32)
    rounded = nearest(10) if name == "tf32" else cut_off(10)
    assert conv.accepts(lambda x: convolved(conv.model.conv, x, rounded))
    assert not conv.accepts(lambda x: convolved(conv.model.conv, x, bf16))


def test_tf32_that_cuts_off_bits_of_positive_numbers_is_still_tf32(judged):
    found = judged("positive", Precision.TF32)
    assert found.accepts(COARSE["gemm"]["tf32 cut off"][0])
    assert found.explains(COARSE["gemm"]["tf32 cut off"][0]) is PrecisionClass.TF32


def test_one_wrong_element_in_sixteen_million_is_found():
    truth = torch.ones(4096, 4096, dtype=torch.float64)
    answer = truth.float()
    answer[4000, 17] += 1e-3
    goal = judged_target(truth.float(), truth)
    found = deviation(goal, answer, 1e-5)
    assert (found.num_wrong, found.worst) == (1, 4000 * 4096 + 17)
    assert found.rms < 1e-6


def judged_target(reference, truth):
    from warpsmith.judge.oracle.compare import target

    return target(reference, truth)


def test_the_two_zeros_are_the_same_answer():
    zeros = torch.tensor([0.0, -0.0, 1.0])
    assert deviation(judged_target(zeros, zeros.double()), -zeros.neg(), 0.0).error == 0.0
    assert deviation(judged_target(zeros, zeros.double()), torch.tensor([-0.0, 0.0, 1.0]), 0.0).error == 0.0


# --- rounding itself ---


@pytest.mark.parametrize(("bits", "dtype"), [(7, torch.bfloat16), (10, torch.float16)])
def test_rounding_to_fewer_bits_is_what_a_cast_does(bits, dtype):
    x = torch.randn(1000, generator=torch.Generator().manual_seed(1)).abs() + 0.1
    assert torch.equal(nearest(bits)(x), x.to(dtype).float())
    assert (cut_off(bits)(x) <= x).all()


def test_rounding_leaves_alone_what_has_no_bits_to_lose():
    for tensor in (torch.arange(3), torch.tensor([math.inf, math.nan]), torch.ones(2, dtype=torch.float16)):
        assert torch.equal(nearest(7)(tensor).nan_to_num(), tensor.nan_to_num())
    numbers = torch.randn(4, dtype=torch.complex64)
    assert torch.equal(nearest(10)(numbers).real, nearest(10)(numbers.real.clone()))
