"""Pooling of every kind, built for the CPU device and held against float64."""

import pytest
import torch

from warpsmith.device import GPUS
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.plan import make_plan
from warpsmith.policy.builtin.recipes.base import Declined

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"

# An expression over x, and what makes x.
CASES = {
    "max, dilated and padded, one axis": ("F.max_pool1d(x, 8, 1, 4, 3)", "r(2, 3, 257)"),
    "max, one axis, long": ("F.max_pool1d(x, 5, 2, 2)", "r(2, 2, 4096)"),
    "max, overlapping": ("F.max_pool2d(x, 4, 1, 1)", "r(2, 3, 16, 20)"),
    "max, side by side": ("F.max_pool2d(x, 2)", "r(2, 3, 16, 24)"),
    "max, of odd sizes": ("F.max_pool2d(x, 3, 2, 1)", "r(2, 3, 13, 15)"),
    "max, rounded up": ("F.max_pool2d(x, 3, 2, ceil_mode=True)", "r(2, 3, 12, 14)"),
    "max, of other windows on each axis": (
        "F.max_pool2d(x, (3, 5), (2, 1), (1, 2), (2, 1))",
        "r(2, 2, 17, 12)",
    ),
    "max, dilated, three axes": ("F.max_pool3d(x, 3, 2, 1, 3)", "r(1, 2, 12, 13, 16)"),
    "max, three axes": ("F.max_pool3d(x, 2)", "r(2, 2, 6, 8, 10)"),
    "max, without a batch": ("F.max_pool2d(x, 2)", "r(3, 8, 8)"),
    "max, of a permuted tensor": ("F.max_pool2d(x.permute(0, 3, 1, 2), 3, 2, 1)", "r(2, 9, 12, 4)"),
    "average, one axis": ("F.avg_pool1d(x, 8, 1, 4)", "r(2, 3, 256)"),
    "average, wide windows": ("F.avg_pool2d(x, 11)", "r(2, 2, 44, 70)"),
    "average, padding counted": ("F.avg_pool2d(x, 3, 2, 1)", "r(2, 3, 12, 16)"),
    "average, padding not counted": ("F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)", "r(2, 3, 12, 16)"),
    "average, rounded up": ("F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)", "r(2, 3, 12, 14)"),
    "average, rounded up, padding not counted": (
        "F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False)",
        "r(2, 3, 12, 14)",
    ),
    "average, with a divisor": ("F.avg_pool2d(x, 2, divisor_override=3)", "r(2, 3, 12, 14)"),
    "average, three axes": ("F.avg_pool3d(x, 3, 2, 1)", "r(1, 2, 9, 10, 16)"),
    "average, of everything": ("F.avg_pool2d(x, 7)", "r(2, 3, 7, 7)"),
    "average, adaptive": ("F.adaptive_avg_pool2d(x, (2, 4))", "r(2, 3, 8, 8)"),
    "average, adaptive, of everything": ("F.adaptive_avg_pool2d(x, 1)", "r(2, 3, 8, 8)"),
    "average, adaptive, three axes": ("F.adaptive_avg_pool3d(x, 2)", "r(1, 2, 4, 6, 8)"),
    "max, adaptive": ("F.adaptive_max_pool2d(x, (2, 1))", "r(2, 3, 8, 8)"),
    "after relu": ("F.max_pool2d(torch.relu(x), 2)", "r(2, 3, 8, 12)"),
    "after a scale a channel": (
        "F.max_pool2d(torch.relu(x * x[0, :, :1, :1] - 0.2), 3, 2, 1)",
        "r(2, 3, 9, 12)",
    ),
    "after relu, one axis": ("F.max_pool1d(torch.relu(x), 3)", "r(2, 3, 120)"),
    "before tanh and a sum": ("torch.tanh(F.avg_pool2d(x, 2)) + x[:, :, ::2, ::2]", "r(2, 3, 8, 12)"),
    "with infinities": (
        "F.max_pool2d(x, 3, 1, 1)",
        "r(2, 2, 9, 9).masked_fill(r(2, 2, 9, 9) > 1, float('-inf'))",
    ),
    "half precision": ("F.max_pool2d(x, 3, 2, 1)", "r(2, 3, 12, 16).half()"),
    "bfloat16": ("F.avg_pool2d(x, 2)", "r(2, 3, 12, 16).bfloat16()"),
    "double precision": ("F.avg_pool2d(x, 2)", "r(2, 3, 12, 16).double()"),
}
TOLERANCES = {"half precision": 1e-3, "bfloat16": 8e-3}


def task(cases):
    names = ", ".join(f"x{k}" for k in range(len(cases)))
    results = ", ".join(f"(lambda x: {result})(x{k})" for k, (result, _) in enumerate(cases))
    inputs = ", ".join(made for _, made in cases)
    return (
        f"{HEAD}def r(*shape):\n    return torch.randn(shape)\n\n"
        f"class Model(nn.Module):\n    def forward(self, {names}):\n        return [{results}]\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return []\n"
    )


def planned(result, made):
    return make_plan(capture(task([(result, made)])), GPUS["h200"])


@pytest.fixture(scope="module")
def outcome(bench):
    return bench.run(task(CASES.values()))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_pooling_computes_what_the_module_does(outcome, name):
    assert outcome.error(list(CASES).index(name)) < TOLERANCES.get(name, 2e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        ("F.max_pool1d(x, 8, 1, 4, 3)", "r(2, 3, 6144)"),
        ("F.max_pool2d(x, 4, 1, 1)", "r(2, 3, 33, 20)"),
        ("F.max_pool3d(x, 3, 2, 1, 3)", "r(1, 2, 12, 27, 31)"),
        ("F.avg_pool2d(x, 11)", "r(2, 2, 55, 70)"),
        ("F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)", "r(2, 3, 12, 1280)"),
    ],
)
def test_every_variant_pools_alike(bench, case):
    outcomes = bench.run_all_variants(task([case]))
    assert len(outcomes) > 1
    assert {variant: one.error() < 2e-6 for variant, one in outcomes.items()} == dict.fromkeys(outcomes, True)


@pytest.mark.slow
def test_a_nan_is_the_largest_of_its_windows(bench):
    made = "r(2, 3, 19, 20).masked_fill(r(2, 3, 19, 20) > 2, float('nan'))"
    outcome = bench.run(task([("F.max_pool2d(x, 3, 2, 1)", made)]))
    (output,), (truth,) = outcome.outputs, outcome.truths
    assert truth.isnan().any()
    assert torch.equal(output.isnan(), truth.isnan())
    assert torch.equal(output.nan_to_num().double(), truth.nan_to_num())


@pytest.mark.parametrize(
    ("result", "operators"),
    [
        ("F.max_pool2d(torch.relu(x), 2)", ["relu", "max_pool"]),
        ("F.avg_pool2d(torch.tanh(x), 2) * 2", ["tanh", "avg_pool", "mul"]),
        ("torch.sigmoid(F.max_pool2d(x, 3, 2, 1))", ["max_pool", "sigmoid"]),
    ],
)
def test_what_is_around_a_pooling_takes_no_kernel(result, operators):
    plan = planned(result, "r(2, 8, 32, 32)")
    assert [[node.op for node in group.nodes] for group in plan.groups] == [operators]


def test_what_costs_much_is_not_computed_once_a_window():
    plan = planned("F.max_pool2d(torch.tanh(x), 3, 1)", "r(2, 8, 32, 32)")
    assert [group.recipe for group in plan.groups] == ["elementwise", "pool"]


def test_a_window_over_everything_is_a_reduction():
    plan = planned("F.avg_pool2d(x, 32)", "r(64, 8, 32, 32)")
    assert [group.recipe for group in plan.groups] == ["rows"]


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ("F.max_pool2d(x, 2, return_indices=True)", "max_pool2d_with_indices_places: no recipe yet"),
        ("F.adaptive_avg_pool2d(x, 5)", "windows are uneven"),
    ],
)
def test_what_no_kernel_does_is_declined(result, reason):
    with pytest.raises(Declined, match=reason):
        planned(result, "r(2, 8, 32, 32)")
