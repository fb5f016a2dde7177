"""Rows looked up by an index tensor."""

import pytest

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
CASES = {
    "an embedding": ("self.e(x)", "torch.randint(0, 30, (3, 7))", "self.e = nn.Embedding(30, 12)"),
    "an embedding of odd rows": ("self.e(x)", "torch.randint(0, 9, (11,))", "self.e = nn.Embedding(9, 5)"),
    "index_select of a middle axis": (
        "x.index_select(1, y)",
        "torch.randn(3, 6, 10), torch.tensor([5, 0, 0, 2])",
    ),
    "index_select of the last axis": ("x.index_select(-1, y)", "torch.randn(3, 6), torch.tensor([5, 0])"),
    "an index tensor from either end": ("x[y]", "torch.randn(6, 8), torch.tensor([[-1, 0, 5], [-6, 2, 3]])"),
    "an index tensor on a second axis": ("x[:, y]", "torch.randn(4, 6, 8), torch.tensor([3, -2])"),
    "of a permuted operand": ("x.permute(2, 0, 1)[y]", "torch.randn(4, 6, 8), torch.tensor([3, 7])"),
    "of half precision": ("x[y]", "torch.randn(6, 16).half(), torch.tensor([3, 2], dtype=torch.int32)"),
    "of int64": ("x[y]", "torch.randint(0, 99, (6, 3)), torch.tensor([3, 2])"),
    "a position's bias": (
        "self.t[self.i.view(-1)].view(4, 4, -1).permute(2, 0, 1) + x",
        "torch.randn(3, 4, 4)",
        "self.t = nn.Parameter(torch.randn(9, 3)); self.register_buffer('i', torch.randint(0, 9, (4, 4)))",
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
def test_a_lookup_gives_what_torch_does(bench, name):
    assert bench.run(task(*CASES[name])).error() < 1e-6


def test_windows_are_read_without_a_copy(bench):
    _, plan = bench.plan(task("x.unfold(1, 3, 2).sum(-1)", "torch.randn(4, 11)"))
    assert [group.recipe for group in plan.groups] == ["rows"]


@pytest.mark.slow
def test_windows_hold_what_torchs_do(bench):
    assert bench.run(task("x.unfold(1, 3, 2).sum(-1)", "torch.randn(4, 11)")).error() < 1e-6
    assert bench.run(task("x.unfold(0, 2, 2).unfold(1, 5, 3) + 1", "torch.randn(6, 11)")).error() < 1e-6
