"""Recurrent nets: traced as one operator each, and run step by step in one launcher."""

import pytest
import torch

from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.plan import make_plan

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"


def task(result, inputs, parts):
    return (
        f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n        {parts}\n\n"
        f"    def forward(self, x, h=None, c=None):\n        return {result}\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return []\n"
    )


def r(*shape):
    return f"torch.randn{shape}"


NETS = {
    "lstm": ("self.n(x)[0]", r(5, 3, 12), "self.n = nn.LSTM(12, 20)"),
    "lstm, its states": (
        "self.n(x, (h, c))",
        f"{r(6, 2, 8)}, {r(1, 2, 7)}, {r(1, 2, 7)}",
        "self.n = nn.LSTM(8, 7)",
    ),
    "lstm of two layers, batch first": (
        "self.n(x, (h, c))[0][:, -1]",
        f"{r(3, 4, 9)}, {r(2, 3, 16)}, {r(2, 3, 16)}",
        "self.n = nn.LSTM(9, 16, 2, batch_first=True)",
    ),
    "lstm in both directions": ("self.n(x)[0]", r(4, 5, 10), "self.n = nn.LSTM(10, 33, bidirectional=True)"),
    "gru": ("self.n(x)[0]", r(7, 1, 12), "self.n = nn.GRU(12, 40)"),
    "gru, two layers both ways": (
        "self.n(x, h)[0]",
        f"{r(2, 6, 10)}, {r(4, 2, 12)}",
        "self.n = nn.GRU(10, 12, 2, batch_first=True, bidirectional=True)",
    ),
    "gru without biases": ("self.n(x)[1]", r(5, 9, 4), "self.n = nn.GRU(4, 6, bias=False)"),
    "plain net": ("self.n(x)[0]", r(5, 2, 6), "self.n = nn.RNN(6, 64)"),
    "plain net by relu": ("self.n(x)[0]", r(3, 2, 6), "self.n = nn.RNN(6, 5, nonlinearity='relu')"),
    "one step of one unit": ("self.n(x)[0]", r(1, 1, 1), "self.n = nn.LSTM(1, 1)"),
    "no batch": ("self.n(x)[0]", r(6, 5), "self.n = nn.GRU(5, 8)"),
    "a cell by hand": (
        "self.n(x, (h, c))[0]",
        f"{r(4, 6)}, {r(4, 8)}, {r(4, 8)}",
        "self.n = nn.LSTMCell(6, 8)",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NETS)
def test_a_recurrent_net_computes_what_the_module_does(bench, name):
    outcome = bench.run(task(*NETS[name]))
    assert [outcome.error(k) < 2e-6 for k in range(len(outcome.outputs))] == [True] * len(outcome.outputs)


@pytest.mark.slow
@pytest.mark.parametrize("variant", range(4))
def test_every_variant_computes_what_the_module_does(bench, variant):
    assert (
        bench.run(task(*NETS["lstm in both directions"]), variant).error() < 3e-5
    )  # the product's variants too, which are coarser


def test_a_layer_is_one_product_and_one_loop_of_steps(bench):
    plan = make_plan(capture(task(*NETS["lstm"])), bench.gpu)
    assert [group.recipe for group in plan.groups] == ["gemm", "recurrent"]
    assert plan.cost.launches == 1 + 5


def test_tracing_leaves_torch_as_it_was():
    before = {name: getattr(torch._VF, name) for name in ("lstm", "gru", "rnn_tanh")}
    capture(task(*NETS["gru"]))
    assert {name: getattr(torch._VF, name) for name in before} == before
