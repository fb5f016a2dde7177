"""Products that no matrix product's recipe takes as they stand: with a vector, with a piece of a bias."""

import pytest

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
CASES = {
    "one output": ("self.n(x)", "torch.randn(7, 33)", "self.n = nn.Linear(33, 1)"),
    "one output of a deep batch": (
        "self.n(x)",
        "torch.randn(2, 3, 33)",
        "self.n = nn.Linear(33, 1, bias=False)",
    ),
    "a matrix and a vector": ("x @ y", "torch.randn(7, 33), torch.randn(33)"),
    "a vector and a matrix": ("y @ x", "torch.randn(33, 9), torch.randn(33)"),
    "a vector and a batch": ("y @ x", "torch.randn(2, 33, 9), torch.randn(33)"),
    "two vectors": ("torch.dot(x, y)", "torch.randn(300), torch.randn(300)"),
    "mv": ("torch.mv(x.t(), y)", "torch.randn(33, 9), torch.randn(33)"),
    "in half precision": ("x @ y", "torch.randn(7, 33).half(), torch.randn(33).half()"),
    "a cell from nothing": ("self.n(x)", "torch.randn(4, 6)", "self.n = nn.GRUCell(6, 8)"),
    "pieces of a weight and a bias": (
        "F.linear(x, self.w[8:20], self.b[8:20])",
        "torch.randn(5, 16)",
        "self.w = nn.Parameter(torch.randn(24, 16)); self.b = nn.Parameter(torch.randn(24))",
    ),
}


def task(result, inputs, parts="pass"):
    return (
        f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n        {parts}\n\n"
        f"    def forward(self, x, y=None):\n        return {result}\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return []\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_product_is_the_modules(bench, name):
    assert bench.run(task(*CASES[name])).error() < (1e-3 if "half" in name else 3e-6)


def test_a_product_with_a_vector_reads_rows(bench):
    _, plan = bench.plan(task(*CASES["one output"]))
    assert [group.recipe for group in plan.groups] == ["rows"]
