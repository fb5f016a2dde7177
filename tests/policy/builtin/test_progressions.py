"""arange and what is made of it: computed where it would be read, and a constant where it must be."""

import pytest

from warpsmith.device import GPUS
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.plan import make_plan

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"

# An expression over x, and the shape of x.
CASES = {
    "upper triangle": ("torch.triu(x)", (33, 40)),
    "lower triangle of a batch": ("torch.tril(x, -1)", (2, 9, 8)),
    "triangle of a product": ("torch.triu(x @ x)", (17, 17)),
    "a causal mask": (
        "x.masked_fill(torch.ones(9, 9, dtype=torch.bool, device=x.device).triu(1), -1e9)",
        (4, 9, 9),
    ),
    "a diagonal matrix": ("torch.diag(x) + 1", (30,)),
    "an identity": ("x + torch.eye(12, device=x.device)", (12, 12)),
    "steps of a half": ("x + torch.arange(0.0, 9.5, 0.5, device=x.device)", (5, 19)),
    "a part, from the end": ("x * torch.arange(9, device=x.device)[1:].flip(0)", (5, 8)),
    "backwards": ("x * torch.arange(8, 0, -1, device=x.device)", (5, 8)),
    "half precision": ("x * torch.arange(8, device=x.device).half()", (5, 8)),
    "of half precision": ("x.half() * torch.arange(8, device=x.device, dtype=torch.float16)", (5, 8)),
    "in a row's sum": ("(x * torch.arange(70, device=x.device)).sum(-1)", (5, 70)),
    "returned": ("torch.arange(7, device=x.device)", (1,)),
    "of nothing else": ("torch.arange(7, device=x.device) * 3 + 1", (1,)),
    "equally spaced": ("x + torch.linspace(0, 1, 8, device=x.device)", (3, 8)),
}


def task(cases):
    names = ", ".join(f"x{k}" for k in range(len(cases)))
    results = ", ".join(f"(lambda x: {result})(x{k})" for k, (result, _) in enumerate(cases))
    inputs = ", ".join(f"torch.randn({shape})" for _, shape in cases)
    return (
        f"{HEAD}class Model(nn.Module):\n    def forward(self, {names}):\n        return [{results}]\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return []\n"
    )


@pytest.fixture(scope="module")
def outcome(bench):
    return bench.run(task(CASES.values()))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_is_made_of_a_progression_is_as_in_the_module(outcome, name):
    assert outcome.error(list(CASES).index(name)) < (1e-3 if "of half" in name else 2e-6)


def test_a_triangle_reads_its_matrix_alone():
    plan = make_plan(capture(task([("torch.triu(x)", (64, 64))])), GPUS["h200"])
    (group,) = plan.groups
    assert [value.name for value in group.inputs] == ["x0"]
    assert group.cost.traffic_bytes == 2 * 64 * 64 * 4


def test_a_constant_that_no_kernel_reads_is_not_kept(bench):
    assert "register_buffer" not in bench.write(task([("torch.triu(x)", (64, 64))])).text("model_new.py")
    assert "register_buffer" in bench.write(task([("torch.arange(7, device=x.device)", (1,))])).text(
        "model_new.py"
    )
