"""Reductions over a first axis: many blocks share the columns, neighbouring threads read neighbours."""

import pytest

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"


def task(result, inputs):
    return (
        f"{HEAD}class Model(nn.Module):\n"
        f"    def forward(self, x, y=None):\n        return {result}\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return []\n"
    )


SUMS = {
    "a tall matrix": task("x.sum(0)", "torch.randn(5000, 33)"),
    "one column beside another": task("x.mean(0)", "torch.randn(4099, 2)"),
    "more columns than a block has": task("(x * 2).amax(0) + 1", "torch.randn(2048, 100)"),
    "a few at a time": task("x.sum(1)", "torch.randn(3, 3001, 5)"),
    "two results": task("x.amin(0) - x.amax(0)", "torch.randn(2500, 8)"),
    "two operands": task("((x - y) ** 2).mean(0)", "torch.randn(2100, 40), torch.randn(2100, 40)"),
    "two short columns": task("x.sum(0)", "torch.randn(2048, 2)"),
    "statistics": task("x.var(0)", "torch.randn(3000, 12) + 4"),
    "integers": task("x.sum(0)", "torch.randint(0, 99, (2050, 3))"),
    "half precision": task("x.float().sum(0)", "torch.randn(2050, 24).half()"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SUMS)
def test_columns_are_reduced_as_by_torch(bench, name):
    assert bench.run(SUMS[name]).error() < 3e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a tall matrix", "one column beside another", "a few at a time"])
def test_every_variant_computes_what_the_module_does(bench, name):
    outcomes = bench.run_all_variants(SUMS[name])
    assert {variant: one.error() < 3e-6 for variant, one in outcomes.items()} == dict.fromkeys(outcomes, True)


def test_few_long_columns_go_to_many_blocks(bench):
    _, plan = bench.plan(SUMS["a tall matrix"])
    assert [group.recipe for group in plan.groups] == ["totals"]


def test_many_columns_stay_one_kernel(bench):
    _, plan = bench.plan(task("x.sum(0)", "torch.randn(2048, 2000)"))
    assert [group.recipe for group in plan.groups] == ["rows"]
