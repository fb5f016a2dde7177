"""A table of small modules: each is captured, planned, written, built, run and compared with float64."""

from dataclasses import dataclass

import pytest

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

"""


@dataclass(frozen=True)
class Case:
    """A module in one line: `result` over x, y and z; `parts` makes its parameters."""

    result: str
    inputs: str
    parts: str = "pass"
    tolerance: float = 2e-6


POINTWISE = {
    "bias, silu, multiply": Case("F.silu(x + self.b) * y", "r(7, 48), r(7, 48)", "self.b = p(48)"),
    "gelu by erf": Case("F.gelu(x)", "r(1003)"),
    "gelu by tanh": Case("F.gelu(x, approximate='tanh')", "r(33, 31)"),
    "activations": Case("F.mish(x) + F.hardswish(y) + F.softplus(z)", "r(5, 33), r(5, 33), r(5, 33)"),
    "more activations": Case("F.elu(x) + F.selu(x) + F.leaky_relu(x, 0.2) + F.relu6(x)", "r(1000)"),
    "exponentials": Case("x.exp() + x.abs().log1p() + x.expm1()", "r(4097)"),
    "powers": Case("x**2 + x.abs()**1.5 + x**3 + 2.0**y + x**-1", "r(31).abs() + 0.5, r(31)"),
    "trigonometry": Case("x.sin() * y.cos() + torch.atan2(x, y)", "r(3, 1), r(3, 33)"),
    "rounding": Case("x.floor() + x.ceil() + (x * 3).round() + x.trunc() + x.sign()", "r(1, 4, 17)"),
    "remainders": Case("torch.fmod(x, 0.7) + torch.remainder(x, 0.7)", "r(257)"),
    "comparisons": Case("(x > y) & (x != 0) | ~(y <= 0.5)", "r(9, 8), r(8)"),
    "a mask with another dtype": Case("torch.where(z, x, y.float())", "r(6, 20), i(20), r(6, 1) > 0"),
    "integers": Case("(x + 2) * y // 3", "i(13), i(13)"),
    "clamped": Case("x.clamp(-0.5, 0.5) + torch.maximum(x, y)", "r(1), r(1)"),
    "an outer sum": Case("x[:, None] * y[None, :] + 1", "r(33), r(24)"),
    "channels": Case("x * self.w[:, None, None] + z", "r(2, 3, 5, 4), None, r(2, 1, 5, 4)", "self.w = p(3)"),
    "batch norm": Case("F.relu(self.n(x))", "r(3, 6, 5, 7)", "self.n = nn.BatchNorm2d(6)"),
    "a transposed operand": Case("x + y.t()", "r(12, 20), r(20, 12)"),
    "a gate from slices": Case("x[:, :24] * torch.sigmoid(x[:, 24:])", "r(5, 48)"),
    "a scalar parameter": Case("x * self.w + self.v", "r(3, 3)", "self.w = p(1); self.v = p()"),
    "half precision": Case("F.silu(x) * y", "r(9, 16).half(), r(16).half()", tolerance=1e-3),
    "bfloat16": Case("torch.tanh(x + y)", "r(130).bfloat16(), r(130).bfloat16()", tolerance=8e-3),
    "double precision": Case("x.exp() / y", "r(50).double(), r(50).double()", tolerance=1e-15),
}
ROWS = {
    "rms norm and gelu": Case("F.gelu(self.n(x))", "r(5, 1000)", "self.n = nn.RMSNorm(1000)"),
    "residual and layer norm": Case("self.n(x + y)", "r(8, 257), r(8, 257)", "self.n = nn.LayerNorm(257)"),
    "layer norm over two axes": Case("self.n(x)", "r(4, 6, 9)", "self.n = nn.LayerNorm((6, 9))"),
    "layer norm and residual": Case("x + F.layer_norm(x, (96,))", "r(33, 96)"),
    "masked softmax": Case(
        "torch.softmax((x / 0.7).masked_fill(z, float('-inf')), -1)", "r(2, 3, 5, 64), None, e(5, 64)"
    ),
    "a mask a batch": Case(
        "torch.softmax(x.masked_fill(z, -1e9), -1)", "r(2, 3, 5, 36), None, e(2, 1, 1, 36)"
    ),
    "log softmax": Case("torch.log_softmax(x * 2, -1)", "r(3, 31)"),
    "softmax of a long row": Case("torch.softmax(x, -1)", "r(2, 70001)"),
    "softmax along channels": Case("x.softmax(1)", "r(3, 8, 70)"),
    "logsumexp": Case("torch.logsumexp(x, -1)", "r(5, 100)"),
    "cross entropy of rows": Case("F.cross_entropy(x, y, reduction='none')", "r(8, 3001), i(8)"),
    "cross entropy of long rows": Case("F.cross_entropy(x, y, reduction='none')", "r(3, 66000), i(3)"),
    "cross entropy, averaged": Case("F.cross_entropy(x, y, ignore_index=1)", "r(77, 100), i(77)"),
    "smoothed cross entropy": Case("F.cross_entropy(x, y, label_smoothing=0.1)", "r(9, 40), i(9)"),
    "negative log-likelihood": Case(
        "F.nll_loss(torch.log_softmax(x, 1), y, reduction='sum')", "r(9, 40), i(9)"
    ),
    "kl divergence": Case(
        "F.kl_div(x.log_softmax(1), y.softmax(1), reduction='batchmean')", "r(9, 40), r(9, 40)"
    ),
    "statistics": Case(
        "x.sum(-1) + x.mean(-1) * x.var(-1) + x.std(-1) + x.amax(-1) - x.amin(-1)", "r(33, 65)"
    ),
    "products": Case("x.prod(-1)", "r(4, 9)"),
    "maximum and its row": Case("x.max(-1, keepdim=True)[0] * y", "r(7, 12), r(7, 12)"),
    "l2 normalized": Case("F.normalize(x)", "r(7, 130)"),
    "cosine similarity": Case("F.cosine_similarity(x, y)", "r(7, 130), r(7, 130)"),
    "other norms": Case(
        "x.norm(1, -1) + torch.linalg.vector_norm(x, 3.0, -1) + x.norm(float('inf'), -1)", "r(6, 50)"
    ),
    "group norm": Case("self.n(x)", "r(3, 8, 5, 7)", "self.n = nn.GroupNorm(4, 8)"),
    "instance norm": Case("F.instance_norm(x)", "r(2, 3, 6, 6)"),
    "columns": Case("x.sum(0) + x.amax(0)", "r(301, 37)"),
    "the middle axis": Case("x / x.pow(2).mean(1, keepdim=True).sqrt()", "r(3, 10, 33)"),
    "mean squared error": Case("F.mse_loss(x, y)", "r(256, 300), r(256, 300)"),
    "smooth l1": Case("F.smooth_l1_loss(x, y)", "r(20, 30), r(20, 30)"),
    "a frobenius norm": Case("x / x.norm()", "r(300, 301)"),
    "a count": Case("(x > 0).sum()", "r(500, 200)"),
    "any and all": Case("(x > 2).any(-1) | (x > -2).all(-1)", "r(60, 20)"),
    "a norm in half precision": Case(
        "self.n(x)", "r(6, 64).half()", "self.n = nn.RMSNorm(64).half()", tolerance=1e-3
    ),
    "softmax in bfloat16": Case("x.softmax(-1)", "r(6, 64).bfloat16()", tolerance=8e-3),
    "attention": Case(
        "F.scaled_dot_product_attention(x, y, z)", "r(2, 3, 8, 16), r(2, 3, 8, 16), r(2, 3, 8, 16)"
    ),
}


def task(cases):
    """All cases as one module, which one build serves; each has its own operands, and so its own kernels."""
    parts = [HEAD, "def r(*shape):\n    return torch.randn(shape)\n\n"]
    parts += ["def p(*shape):\n    return nn.Parameter(torch.randn(shape))\n\n"]
    parts += ["def i(*shape):\n    return torch.randint(0, 9, shape)\n\n"]
    parts += [
        "def e(*shape):\n    return (torch.rand(shape) < 0.3).index_fill(-1, torch.tensor(0), False)\n\n"
    ]
    for k, case in enumerate(cases):
        parts.append(
            f"class Part{k}(nn.Module):\n"
            f"    def __init__(self):\n        super().__init__()\n        {case.parts}\n\n"
            f"    def forward(self, x, y=None, z=None):\n        return {case.result}\n\n"
        )
    numbers = range(len(cases))
    parts.append("class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n")
    parts += [f"        self.part{k} = Part{k}()\n" for k in numbers]
    formals = ", ".join(f"x{k}, y{k}, z{k}" for k in numbers)
    results = ", ".join(f"self.part{k}(x{k}, y{k}, z{k})" for k in numbers)
    parts.append(f"\n    def forward(self, {formals}):\n        return [{results}]\n\n")
    parts.append("def get_inputs():\n    inputs = []\n")
    for case in cases:
        parts.append(f"    given = ({case.inputs},)\n    inputs += [*given, *[None] * (3 - len(given))]\n")
    parts.append("    return inputs\n\ndef get_init_inputs():\n    return []\n")
    return "".join(parts)


@pytest.fixture(scope="module")
def pointwise(bench):
    return bench.run(task(POINTWISE.values()))


@pytest.fixture(scope="module")
def rows(bench):
    return bench.run(task(ROWS.values()))


@pytest.mark.parametrize("name", POINTWISE)
def test_a_pointwise_program_computes_what_the_module_does(pointwise, name):
    assert pointwise.error(list(POINTWISE).index(name)) < POINTWISE[name].tolerance


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_a_row_program_computes_what_the_module_does(rows, name):
    assert rows.error(list(ROWS).index(name)) < ROWS[name].tolerance
