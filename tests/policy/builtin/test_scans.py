"""Scans of every kind along every axis, built for the CPU device and held against float64."""

import re

import pytest
import torch

from warpsmith.device import GPUS
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.plan import make_plan
from warpsmith.policy.builtin.recipes.base import Declined

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"


def task(results, inputs):
    """A module that returns `results` of the tensors x0, x1, …, which `inputs` makes."""
    names = ", ".join(f"x{k}" for k in range(len(inputs)))
    return (
        f"{HEAD}class Model(nn.Module):\n    def forward(self, {names}):\n"
        f"        return [{', '.join(results)}]\n\n"
        f"def get_inputs():\n    return [{', '.join(inputs)}]\n\ndef get_init_inputs():\n    return []\n"
    )


def planned(results, inputs):
    graph = capture(task(results, inputs))
    return graph, make_plan(graph, GPUS["h200"])


# An expression over x, the shape of x, and the largest error allowed.
CASES = {
    "along rows": ("x.cumsum(-1)", (5, 4096), 2e-6),
    "along rows of no round length": ("x.cumsum(1)", (3, 1003), 2e-6),
    "along short rows": ("x.cumsum(-1)", (70, 20), 2e-6),
    "along one long row": ("x.cumsum(0)", (20011,), 2e-6),
    "along columns": ("x.cumsum(0)", (301, 37), 2e-6),
    "along a few columns": ("x.cumsum(0)", (3, 5), 2e-6),
    "along the middle axis": ("x.cumsum(1)", (3, 131, 40), 2e-6),
    "from the end": ("x.flip(1).cumsum(1).flip(1)", (4, 1024), 2e-6),
    "from the end of columns": ("x.flip(0).cumsum(0).flip(0)", (77, 9), 2e-6),
    "of what is flipped": ("x.flip(-1).cumsum(-1)", (4, 130), 2e-6),
    "of what is flipped along another axis": ("x.flip(0).cumsum(-1)", (4, 130), 2e-6),
    "exclusive": (
        "torch.cat((torch.zeros_like(x.select(1, 0).unsqueeze(1)), "
        "x.narrow(1, 0, x.size(1) - 1).cumsum(1)), dim=1)",
        (4, 512),
        2e-6,
    ),
    "exclusive from the end": (
        "torch.cat((x[:, 1:].flip(1).cumsum(1).flip(1), torch.zeros_like(x[:, :1])), dim=1)",
        (4, 129),
        2e-6,
    ),
    "exclusive along columns": (
        "torch.cat((torch.ones_like(x[:1]), x[:-1].cumprod(0)), dim=0)",
        (33, 70),
        2e-6,
    ),
    "masked": ("(x * (x > 0)).cumsum(1)", (4, 1000), 2e-6),
    "scaled before and after": ("torch.relu(2 * x + 1).cumsum(1) / 3 - x", (4, 1000), 2e-6),
    "products": ("(1 + 0.01 * x).cumprod(1)", (3, 999), 2e-5),
    "the largest so far": ("x.cummax(1)[0]", (3, 1000), 1e-12),
    "the smallest so far": ("x.cummin(0)[0]", (100, 13), 1e-12),
    "logarithms of sums": ("x.logcumsumexp(1)", (3, 500), 2e-6),
    "integers": ("(3 * x).long().cumsum(1)", (3, 100), 1e-12),
    "counts": ("(x > 0).cumsum(0)", (100, 40), 1e-12),
    "half precision": ("x.half().cumsum(1)", (3, 100), 2e-3),
    "bfloat16": ("x.bfloat16().cumsum(0)", (100, 8), 1.6e-2),
    "double precision": ("x.double().cumsum(1)", (3, 1000), 1e-14),
    "one element a row": ("x.cumsum(1)", (3, 1), 1e-12),
}


def of_cases(cases):
    return task(
        [re.sub(r"\bx\b", f"x{k}", result) for k, (result, *_) in enumerate(cases)],
        [f"torch.randn({shape})" for _, shape, *_ in cases],
    )


@pytest.fixture(scope="module")
def outcome(bench):
    return bench.run(of_cases(CASES.values()))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_scan_computes_what_the_module_does(outcome, name):
    assert outcome.error(list(CASES).index(name)) < CASES[name][2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        ("(2 * x).cumsum(1) + 1", (3, 9000)),
        ("x.flip(1).cumsum(1).flip(1)", (3, 1003)),
        ("x.cumsum(1)", (2, 131, 70)),
        ("x.flip(0).cumsum(0).flip(0)", (131, 7)),
    ],
)
def test_every_variant_scans_alike(bench, case):
    outcomes = bench.run_all_variants(of_cases([case]))
    assert len(outcomes) > 1
    assert {variant: one.error() < 2e-6 for variant, one in outcomes.items()} == dict.fromkeys(outcomes, True)


@pytest.mark.slow
def test_infinities_and_nan_go_on_from_where_they_stand(bench):
    made = "torch.where(torch.rand(6, 700) < 0.001, float('inf'), torch.rand(6, 700))"
    source = of_cases([("x.cumsum(1)", ())]).replace("torch.randn(())", made)
    outcome = bench.run(source)
    (output,), (truth,) = outcome.outputs, outcome.truths
    assert torch.isinf(truth).any()
    assert torch.equal(torch.isinf(output), torch.isinf(truth))


@pytest.mark.slow
def test_a_long_sum_is_as_exact_as_the_judge_asks(bench):
    outcome = bench.run(of_cases([("x.abs().cumsum(1)", (2, 100000))]))
    torch.manual_seed(0)
    (x,) = bench.module(of_cases([("x", (2, 100000))])).get_inputs()
    truth = outcome.truths[0]
    by_pytorch = (x.abs().cumsum(1).double() - truth).abs().max()
    # On a CPU, PyTorch sums in double precision: its error is that of a rounding.
    assert (outcome.outputs[0].double() - truth).abs().max() < 8 * by_pytorch


@pytest.mark.parametrize(
    ("result", "operators"),
    [
        ("(x * y).cumsum(1)", ["mul", "cumsum"]),
        ("x.cumsum(1) * y + 1", ["cumsum", "mul", "add"]),
        ("x.flip(1).cumsum(1).flip(1)", ["cumsum"]),
        ("torch.cat((torch.zeros_like(x[:, :1]), x[:, :-1].cumsum(1)), 1)", ["cumsum"]),
    ],
)
def test_what_is_around_a_scan_takes_no_kernel(result, operators):
    results = [re.sub(r"\by\b", "x1", re.sub(r"\bx\b", "x0", result))]
    _, plan = planned(results, ["torch.randn(64, 256)"] * 2)
    assert [[node.op for node in group.nodes] for group in plan.groups] == [operators]


def test_a_scan_that_begins_with_another_number_is_copied_behind_it():
    _, plan = planned(
        ["torch.cat((torch.ones_like(x0[:, :1]), x0[:, :-1].cumsum(1)), 1)"], ["torch.randn(8, 64)"]
    )
    assert [group.recipe for group in plan.groups] == ["scan", "assembly"]


def test_where_the_largest_so_far_stands_is_declined():
    with pytest.raises(Declined, match="cummax_places: no recipe yet"):
        planned(["x0.cummax(1)"], ["torch.randn(8, 64)"])
