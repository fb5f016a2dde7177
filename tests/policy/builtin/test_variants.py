"""Every variant of a kernel is right, at sizes that leave tails."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
TAILS = (1, 3, 31, 33, 1000, 4097)


def task(result, inputs, parts="pass"):
    return (
        f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n        {parts}\n\n"
        f"    def forward(self, x, y=None, z=None):\n        return {result}\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return []\n"
    )


ONE_KERNEL = {
    "pointwise": task("F.silu(x + y) * 2", "torch.randn(3, 5, 48), torch.randn(48)"),
    "pointwise, large": task("x.relu() + y", "torch.randn(30, 1024), torch.randn(30, 1)"),
    "a norm of an odd row": task("self.n(x)", "torch.randn(5, 1003)", "self.n = nn.LayerNorm(1003)"),
    "a norm of a short row": task("F.rms_norm(x, (20,))", "torch.randn(70, 20)"),
    "softmax": task("torch.softmax(x / 3, -1)", "torch.randn(3, 8192)"),
    "cross entropy": task(
        "F.cross_entropy(x, y, reduction='none')", "torch.randn(3, 17000), torch.randint(0, 17000, (3,))"
    ),
    "softmax along channels": task("x.softmax(1)", "torch.randn(2, 70, 35)"),
    "a total": task("(x - y).abs().mean()", "torch.randn(70, 1001), torch.randn(70, 1001)"),
}


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_every_variant_computes_what_the_module_does(bench, name):
    outcomes = bench.run_all_variants(ONE_KERNEL[name])
    assert len(outcomes) > 1
    assert {variant: one.error() < 2e-6 for variant, one in outcomes.items()} == dict.fromkeys(outcomes, True)


def test_tails_of_every_size_are_computed(bench):
    numbers = range(len(TAILS))
    names = ", ".join(f"x{k}" for k in numbers)
    results = ", ".join(
        f"x{k}.exp() + 1, x{k}.softmax(-1), x{k} - x{k}.mean(-1, keepdim=True)" for k in numbers
    )
    source = (
        f"{HEAD}class Model(nn.Module):\n    def forward(self, {names}):\n        return [{results}]\n\n"
        f"def get_inputs():\n    return [torch.randn(3, n) for n in {TAILS}]\n\n"
        "def get_init_inputs():\n    return []\n"
    )
    outcome = bench.run(source)
    assert [outcome.error(k) < 2e-6 for k in range(3 * len(TAILS))] == [True] * 3 * len(TAILS)


@st.composite
def broadcasts(draw):
    """Shapes that broadcast with each other, and an order of axes for the first."""
    full = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    operands = []
    for _ in range(2):
        kept = draw(st.integers(0, len(full)))
        operands.append([n if draw(st.booleans()) else 1 for n in full[len(full) - kept :]])
    return full, operands, draw(st.permutations(range(len(full))))


@pytest.mark.slow
@given(cases=st.lists(broadcasts(), min_size=10, max_size=10))
@settings(max_examples=2, deadline=None, database=None, derandomize=True)
def test_operands_broadcast_as_in_torch(bench, cases):
    names = [f"x{k}, y{k}, z{k}" for k in range(len(cases))]
    results = [f"x{k}.permute({order}) * y{k} + z{k}" for k, (_, _, order) in enumerate(cases)]
    shapes = [
        shape
        for full, operands, order in cases
        for shape in ([full[order.index(axis)] for axis in range(len(full))], *operands)
    ]
    source = (
        f"{HEAD}class Model(nn.Module):\n    def forward(self, {', '.join(names)}):\n"
        f"        return [{', '.join(results)}]\n\n"
        f"def get_inputs():\n    return [torch.randn(shape) for shape in {shapes}]\n\n"
        "def get_init_inputs():\n    return []\n"
    )
    outcome = bench.run(source)
    assert [outcome.error(k) < 1e-6 for k in range(len(cases))] == [True] * len(cases)
