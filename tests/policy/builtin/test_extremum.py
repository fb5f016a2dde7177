"""argmax, argmin, and max and min with their places: as PyTorch has them, with ties, infinities and NaN."""

import pytest
import torch

from warpsmith.device import GPUS
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.plan import make_plan

HEAD = "import torch\nfrom torch import nn\n\n"

# An expression over x, and what makes x.
CASES = {
    "along rows": ("x.argmax(-1)", "r(5, 4096)"),
    "along rows of no round length": ("x.argmin(1)", "r(3, 1003)"),
    "along short rows": ("x.argmax(1)", "r(70, 20)"),
    "along columns": ("x.argmax(0)", "r(301, 37)"),
    "along the middle axis": ("x.argmin(1)", "r(3, 131, 40)"),
    "along an axis that stays": ("x.argmax(1, keepdim=True)", "r(3, 11, 4)"),
    "over everything": ("x.argmax()", "r(30, 41)"),
    "of one element": ("x.argmax()", "r(1)"),
    "along an axis of one": ("x.argmax(1)", "r(4, 1)"),
    "of a permuted tensor": ("x.permute(2, 0, 1).argmax(1)", "r(6, 33, 5)"),
    "with the element": ("x.max(1)", "r(4, 1000)"),
    "with the smallest element": ("x.min(0)", "r(100, 13)"),
    "of what is computed": ("(2 - x.abs()).argmax(1)", "r(4, 1000)"),
    "with an element of what is computed": ("(x * 2 + 1).max(-1, keepdim=True)", "r(4, 129)"),
    "among equals, the first": ("x.argmax(1)", "(r(9, 999) * 2).round()"),
    "among equal columns, the first": ("x.argmin(0)", "(r(200, 9) * 2).round()"),
    "all equal": ("x.argmax(1)", "torch.zeros(3, 700)"),
    "all infinitely small": ("x.argmax(1)", "torch.full((3, 700), float('-inf'))"),
    "with infinities": ("x.argmin(1)", "r(3, 100).masked_fill(r(3, 100) > 1, float('inf'))"),
    "with NaN, the first": ("x.argmax(1)", "r(6, 400).masked_fill(r(6, 400) > 2, float('nan'))"),
    "with NaN in columns": ("x.argmin(0)", "r(400, 6).masked_fill(r(400, 6) > 2, float('nan'))"),
    "integers": ("x.argmax(1)", "(r(5, 100) * 4).long()"),
    "least integers": ("x.argmax(1)", "torch.full((2, 65), -(2**63))"),
    "half precision": ("x.max(1)", "r(5, 256).half()"),
    "bfloat16": ("x.argmin(0)", "r(100, 8).bfloat16()"),
    "double precision": ("x.argmax(1)", "r(5, 256).double()"),
}


def task(cases):
    names = ", ".join(f"x{k}" for k in range(len(cases)))
    results = ", ".join(f"(lambda x: {result})(x{k})" for k, (result, _) in enumerate(cases))
    inputs = ", ".join(made for _, made in cases)
    return (
        f"{HEAD}def r(*shape):\n    return torch.randn(shape)\n\n"
        f"class Model(nn.Module):\n    def forward(self, {names}):\n        return [{results}]\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return []\n"
    )


def expected(bench, source):
    """By PyTorch in the inputs' own precision: in float64 other elements may be equal."""
    reference = bench.module(source)
    torch.manual_seed(0)
    found = reference.Model()(*reference.get_inputs())
    return [tuple(item) if isinstance(item, tuple) else (item,) for item in found]


@pytest.fixture(scope="module")
def found(bench):
    """For each case, what the program gave and what PyTorch gives."""
    source = task(CASES.values())
    truths = expected(bench, source)
    outputs = iter(bench.run(source).outputs)
    return {
        name: [(next(outputs), truth) for truth in case] for name, case in zip(CASES, truths, strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_places_and_elements_are_those_of_pytorch(found, name):
    for output, truth in found[name]:
        assert output.dtype == truth.dtype
        assert torch.equal(output, truth)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [("x.argmax(1)", "r(3, 4096).round()"), ("x.argmin(0)", "r(300, 40).round()")]
)
def test_every_variant_finds_the_same_place(bench, case):
    outcomes = bench.run_all_variants(task([case]))
    assert len(outcomes) > 1
    assert {variant: one.error() for variant, one in outcomes.items()} == dict.fromkeys(outcomes, 0.0)


def test_an_element_and_its_place_take_one_kernel():
    plan = make_plan(capture(task([("x.max(1)", "r(64, 4096)")])), GPUS["h200"])
    assert [sorted(node.op for node in group.nodes) for group in plan.groups] == [["amax", "argmax"]]


def test_the_element_alone_is_a_plain_reduction():
    plan = make_plan(capture(task([("x.max(1)[0]", "r(64, 4096)")])), GPUS["h200"])
    assert [group.recipe for group in plan.groups] == ["rows"]
