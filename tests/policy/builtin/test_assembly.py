"""Tensors put together from pieces: each kind, built for the CPU device and held against PyTorch."""

import pytest

from warpsmith.device import GPUS
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.plan import make_plan

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"

# An expression over x, y and z, and what makes them.
CASES = {
    "along channels": ("torch.cat([x, y], 1)", "r(2, 3, 4, 5), r(2, 6, 4, 5)"),
    "along the last axis": ("torch.cat([x, y, z], -1)", "r(7, 8), r(7, 12), r(7, 5)"),
    "along the first axis": ("torch.cat([x, y])", "r(3, 8), r(5, 8)"),
    "of slices": ("torch.cat([x[:, 2:], y[:, ::2], -z], 1)", "r(7, 10), r(7, 12), r(7, 5)"),
    "of one tensor twice": ("torch.cat([x, x.flip(1)], 1)", "r(7, 10)"),
    "of a transposed tensor": ("torch.cat([x.t(), y], 1)", "r(8, 6), r(6, 4)"),
    "of several dtypes": ("torch.cat([x, y])", "r(8).half(), r(8)"),
    "of integers": ("torch.cat([x.long(), y.long()])", "r(8), r(4)"),
    "of bools": ("torch.cat([x > 0, y > 0])", "r(8), r(5)"),
    "with an empty piece": ("torch.cat([x, y[:, :0], z], 1)", "r(4, 3), r(4, 9), r(4, 2)"),
    "with zeros": ("torch.cat([torch.zeros_like(x), y], 1)", "r(4, 3), r(4, 9)"),
    "of what is computed": ("torch.cat([torch.relu(x), y * 2 + z], 1)", "r(4, 4), r(4, 9), r(9)"),
    "before what is computed": ("torch.relu(torch.cat([x, y], 1)) * z", "r(4, 4), r(4, 8), r(12)"),
    "before batch norm": (
        "F.batch_norm(torch.cat([x, y], 1), z, z.abs() + 1)",
        "r(2, 3, 4, 4), r(2, 1, 4, 4), r(4)",
    ),
    "side by side twice": ("torch.cat([torch.cat([x, y], 1), z], 1)", "r(4, 4), r(4, 8), r(4, 1)"),
    "stacked": ("torch.stack([x, y], 1)", "r(4, 8), r(4, 8)"),
    "stacked last": ("torch.stack([x, y], -1)", "r(4, 8), r(4, 8)"),
    "padded": ("F.pad(x, (1, 2, 3, 0))", "r(2, 5, 8)"),
    "padded with a number, and cut": ("F.pad(x, (-1, 2), value=7.0)", "r(5, 8)"),
    "padded after relu": ("F.pad(torch.relu(x), (4, 4))", "r(5, 8)"),
    "rolled": ("torch.roll(x, 3, 1)", "r(5, 8)"),
    "rolled along two axes": ("torch.roll(x, (-2, 3), (1, 2))", "r(2, 6, 8)"),
    "rolled flat": ("torch.roll(x, 5)", "r(4, 6)"),
    "not rolled": ("torch.roll(x, 8, 1) + 1", "r(5, 8)"),
    "a slice overwritten": ("torch.slice_scatter(x, y, 1, 2, 5)", "r(4, 8), r(4, 3)"),
    "an entry overwritten": ("torch.select_scatter(x, y, 0, -1)", "r(4, 8), r(8)"),
    "half precision": ("torch.cat([x, y], 1)", "r(4, 16).half(), r(4, 8).half()"),
    "bfloat16": ("torch.cat([x, y * 2], 1)", "r(4, 16).bfloat16(), r(4, 8).bfloat16()"),
}


def task(cases):
    numbers = range(len(cases))
    formals = ", ".join(f"x{k}, y{k}, z{k}" for k in numbers)
    results = ", ".join(
        f"(lambda x, y, z: {result})(x{k}, y{k}, z{k})" for k, (result, _) in enumerate(cases)
    )
    lines = [
        f"    given = ({made},)\n    inputs += [*given, *[None] * (3 - len(given))]\n" for _, made in cases
    ]
    return (
        f"{HEAD}def r(*shape):\n    return torch.randn(shape)\n\n"
        f"class Model(nn.Module):\n    def forward(self, {formals}):\n        return [{results}]\n\n"
        f"def get_inputs():\n    inputs = []\n{''.join(lines)}    return inputs\n\n"
        "def get_init_inputs():\n    return []\n"
    )


def planned(result, made):
    return make_plan(capture(task([(result, made)])), GPUS["h200"])


@pytest.fixture(scope="module")
def outcome(bench):
    return bench.run(task(CASES.values()))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_pieces_come_to_their_places(outcome, name):
    allowed = {"half precision": 1e-3, "bfloat16": 8e-3, "of several dtypes": 1e-3}.get(name, 1e-6)
    assert outcome.error(list(CASES).index(name)) < allowed


@pytest.mark.slow
def test_every_variant_puts_alike(bench):
    outcomes = bench.run_all_variants(task([("torch.relu(torch.cat([x, y], 1)) + 1", "r(7, 64), r(7, 36)")]))
    assert len(outcomes) > 1
    assert {variant: one.error() < 1e-6 for variant, one in outcomes.items()} == dict.fromkeys(outcomes, True)


@pytest.mark.parametrize(
    ("result", "made", "operators"),
    [
        ("torch.cat([torch.relu(x), y * 2], 1)", "r(4, 4), r(4, 8)", ["relu", "mul", "assemble"]),
        ("torch.relu(torch.cat([x, y], 1)) * 2", "r(4, 4), r(4, 8)", ["assemble", "relu", "mul"]),
    ],
)
def test_what_is_pointwise_around_pieces_takes_no_kernel(result, made, operators):
    (group,) = planned(result, made).groups
    assert [node.op for node in group.nodes] == operators
    assert group.cost.traffic_bytes == 2 * 4 * 12 * 4


def test_what_others_need_too_is_not_computed_on_the_way():
    plan = planned("(lambda r: (r, torch.cat([r, y], 1)))(torch.relu(x))", "r(4, 4), r(4, 8)")
    assert [group.recipe for group in plan.groups] == ["elementwise", "assembly"]
