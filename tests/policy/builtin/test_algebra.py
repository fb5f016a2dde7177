"""Rules that leave arithmetic out: each is right, is named, and keeps away where it does not hold."""

import pytest

from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.explaining import plan_text
from warpsmith.policy.builtin.graph import Shortcut
from warpsmith.policy.builtin.plan import make_plan

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
LINEAR = "self.n = nn.Linear(24, 40); self.v = nn.Parameter(torch.randn(40))"


def task(result, inputs="torch.randn(6, 24)", parts=LINEAR):
    return (
        f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n        {parts}\n\n"
        f"    def forward(self, x, y=None):\n        return {result}\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return []\n"
    )


TOTALS = {
    "sum": task("self.n(x).sum(1)"),
    "sum, kept": task("self.n(x).sum(1, keepdim=True) * 3"),
    "mean": task("self.n(x).mean(-1)"),
    "of everything": task("self.n(x).sum()"),
    "scaled": task("(self.n(x) / 2).sum(1, keepdim=True) * 1.5"),
    "less a vector": task("torch.mean(self.n(x) - self.v, dim=1, keepdim=True).exp()"),
    "plus a number": task("(3 + self.n(x) * 2).sum(-1)"),
    "of a matrix product": task("(x @ y).sum(1)", "torch.randn(6, 24), torch.randn(24, 9)"),
    "of a deeper batch": task("self.n(x).sum((0, 2))", "torch.randn(3, 5, 24)"),
    "of a deeper batch, one axis": task("self.n(x).mean(2)", "torch.randn(3, 5, 24)"),
    "without a bias": task("self.n(x).sum(1)", parts="self.n = nn.Linear(24, 40, bias=False)"),
}
OTHERS = {
    "relu twice": (task("F.relu(F.relu(self.n(x)))"), Shortcut.ONCE),
    "abs twice": (task("x.abs().abs() + 1"), Shortcut.ONCE),
    "two factors": (task("self.n(x) * 2 * 0.25"), Shortcut.ONE_FACTOR),
    "a factor and a divisor": (
        task("(x @ y) / 3 * 0.5", "torch.randn(6, 24), torch.randn(24, 9)"),
        Shortcut.ONE_FACTOR,
    ),
}
NOT = {
    "a reduction over rows": task("self.n(x).sum(0)"),
    "what is read elsewhere": task("(lambda p: (p, p.sum(1)))(self.n(x))"),
    "a maximum": task("self.n(x).amax(1)"),
    "after an activation": task("F.relu(self.n(x)).sum(1)"),
    "a batch of products": task("(x @ y).sum(-1)", "torch.randn(2, 6, 24), torch.randn(2, 24, 9)"),
    "half precision": task("(x @ y).sum(1)", "torch.randn(6, 24).half(), torch.randn(24, 9).half()"),
    "other bounds": task("x.clamp(max=1).clamp(max=0.5)"),
    "factors that vanish": task("x * 1e-25 * 1e-25"),
    "a factor that others read": task("(lambda p: (p, p * 2))(x * 3)"),
    "integers": task("x * 3 // 2 * 2", "torch.arange(5)"),
}


def shortcuts(source):
    return capture(source).shortcuts


@pytest.mark.slow
@pytest.mark.parametrize("name", TOTALS)
def test_the_total_of_a_product_makes_no_matrix(name):
    graph = capture(TOTALS[name])
    assert graph.shortcuts[0] is Shortcut.TOTAL_OF_PRODUCT
    assert not {"linear", "matmul", "mm"} & {node.op for node in graph.nodes}


@pytest.mark.slow
@pytest.mark.parametrize("name", TOTALS)
def test_the_total_of_a_product_is_the_modules(bench, name):
    assert bench.run(TOTALS[name]).error() < 3e-6


@pytest.mark.parametrize("name", OTHERS)
def test_what_can_be_left_out_is(name):
    source, shortcut = OTHERS[name]
    assert shortcuts(source) == (shortcut,)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_left_out_changes_nothing(bench, name):
    assert bench.run(OTHERS[name][0]).error() < 2e-6


@pytest.mark.parametrize("name", NOT)
def test_a_rule_keeps_away_where_it_does_not_hold(name):
    assert shortcuts(NOT[name]) == ()


def test_a_recurrent_nets_random_start_is_named():
    source = task("self.r(x, torch.randn(1, 4, 8))[0]", "torch.randn(5, 4, 6)", "self.r = nn.GRU(6, 8)")
    assert shortcuts(source) == (Shortcut.MEAN_OF_RANDOM,)


def test_a_plan_and_its_program_name_their_shortcuts(bench):
    graph = capture(TOTALS["sum"])
    plan = make_plan(graph, bench.gpu)
    assert plan.shortcuts == (Shortcut.TOTAL_OF_PRODUCT,)
    assert f"By a shortcut: {Shortcut.TOTAL_OF_PRODUCT}." in plan_text(graph, plan, bench.gpu)
    assert f"Shortcut: {Shortcut.TOTAL_OF_PRODUCT}." in bench.write(TOTALS["sum"]).text("model_new.py")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("(lambda unread: x + 1)(torch.softmax(x, -1) @ x.t())", (Shortcut.UNREAD,)),
        ("(lambda unread: x + 1)(x.t())", ()),
        ("(lambda unread: x + 1)(torch.zeros(3))", ()),
        ("x.max(1)[0]", ()),
    ],
)
def test_an_operator_whose_result_nobody_reads_is_named(result, expected):
    assert shortcuts(task(result)) == expected
