"""Which nodes share a kernel."""

import pytest

from warpsmith.device import GPUS
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.plan import make_plan
from warpsmith.policy.builtin.recipes.rows import Rows

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"


def planned(result, inputs, parts="pass"):
    source = (
        f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n        {parts}\n\n"
        f"    def forward(self, x, y=None, z=None):\n        return {result}\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return []\n"
    )
    graph = capture(source)
    plan = make_plan(graph, GPUS["h200"])
    assert sorted(id(node) for group in plan.groups for node in group.nodes) == sorted(map(id, graph.nodes))
    return plan


TWO = "torch.randn(64, 256), torch.randn(64, 256)"


@pytest.mark.parametrize(
    ("result", "inputs", "recipes"),
    [
        ("F.gelu(x) * torch.sigmoid(y) + 1", TWO, ["elementwise"]),
        ("(x + y, x * y, x - 1)", TWO, ["elementwise"]),
        ("F.layer_norm(x + y, (256,)) * 2", TWO, ["rows"]),
        ("(x + y, F.rms_norm(x + y, (256,)))", TWO, ["rows"]),
        ("F.gelu(F.softmax(x, -1) * y)", TWO, ["rows"]),
        ("F.cross_entropy(x, z)", "torch.randn(64, 256), None, torch.randint(0, 9, (64,))", ["rows", "rows"]),
        ("(x * y).mean()", "torch.randn(640, 256), torch.randn(640, 256)", ["totals"]),
        ("F.layer_norm(x, (256,)).t().contiguous() + 1", TWO, ["rows", "elementwise"]),
        ("x.softmax(-1).softmax(0)", TWO, ["rows", "rows"]),
    ],
)
def test_what_can_share_a_kernel_does(result, inputs, recipes):
    assert [group.recipe for group in planned(result, inputs).groups] == recipes


def test_a_group_never_waits_for_what_waits_for_it():
    plan = planned(
        "F.layer_norm(x + F.linear(x.softmax(-1), self.w), (256,)) + x.softmax(-1)",
        "torch.randn(64, 256)",
        "self.w = nn.Parameter(torch.randn(256, 256))",
    )
    ready = set()
    for group in plan.groups:
        made_elsewhere = [value for value in group.inputs if value.source == "node"]
        assert ready.issuperset(made_elsewhere)
        ready |= set(group.outputs)


def test_a_per_channel_scale_has_no_kernel_of_its_own():
    plan = planned("self.n(x)", "torch.randn(2, 8, 10, 10)", "self.n = nn.BatchNorm2d(8)")
    assert len(plan.groups) == 1


def test_an_operator_of_two_results_that_reads_a_group_stays_outside():
    source = (
        f"{HEAD}class Model(nn.Module):\n    def forward(self, x):\n"
        "        return torch.topk(F.layer_norm(x, (256,)), 3)\n\n"
        f"def get_inputs():\n    return [{TWO}][:1]\n\ndef get_init_inputs():\n    return []\n"
    )
    graph = capture(source)
    *norm, topk = graph.nodes
    assert len(topk.outputs) == 2
    assert Rows().match(graph, graph.nodes).nodes == tuple(norm)


def test_predicted_traffic_is_each_operand_once():
    (group,) = planned("F.layer_norm(x + y, (256,))", TWO).groups
    assert group.cost.traffic_bytes == 3 * 64 * 256 * 4
    assert group.cost.launches == 1


def test_names_are_distinct():
    names = [group.name for group in planned("x.softmax(-1).t().softmax(-1)", TWO).groups]
    assert len(set(names)) == len(names) == 2
