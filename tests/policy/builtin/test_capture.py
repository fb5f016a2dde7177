"""From a task's source to a graph."""

import pytest

from warpsmith.core import TaskError
from warpsmith.device import GPUS
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.graph import Source
from warpsmith.policy.builtin.plan import make_plan
from warpsmith.policy.builtin.recipes.base import Declined

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"


def task(forward, inputs="torch.randn(4, 6)", init="pass", settings="", given="[]", arguments="x"):
    return (
        f"{HEAD}class Model(nn.Module):\n    def __init__(self{settings}):\n"
        f"        super().__init__()\n        {init}\n\n"
        f"    def forward(self, {arguments}):\n        {forward}\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return {given}\n"
    )


def operators(graph):
    return [node.op for node in graph.nodes]


def test_views_are_strides_and_no_nodes():
    graph = capture(task("return x.t().unsqueeze(0).expand(2, 6, 4)[:, 1:] * 2"))
    assert operators(graph) == ["mul"]
    (view,) = graph.nodes[0].views
    assert (view.shape, view.strides, view.offset) == ((2, 5, 4), (0, 1, 6), 1)


def test_the_same_computation_is_made_once():
    assert operators(capture(task("return x.exp() + x.exp()"))) == ["exp", "add"]


def test_what_nothing_returns_is_dropped():
    assert operators(capture(task("y = x.exp().sum(); return x + 1"))) == ["add"]


def test_dropout_in_eval_mode_is_nothing():
    graph = capture(task("return self.d(x) + 1", init="self.d = nn.Dropout(0.5)"))
    assert operators(graph) == ["add"]


def test_parameters_keep_their_names_used_or_not():
    graph = capture(
        task("return self.a[0](x)", init="self.a = nn.ModuleList([nn.Linear(6, 2), nn.Linear(6, 2)])")
    )
    assert [value.path for value in graph.surface.state] == [
        "a.0.weight",
        "a.0.bias",
        "a.1.weight",
        "a.1.bias",
    ]


def test_a_number_that_forward_puts_on_the_inputs_device_keeps_its_value():
    graph = capture(task("return torch.min(x, torch.tensor(0.25, device=x.device))"))
    assert operators(graph) == ["minimum"]
    assert graph.nodes[0].inputs[1] == 0.25


def test_a_linear_layer_stays_whole():
    assert operators(capture(task("return self.a(x)", init="self.a = nn.Linear(6, 2)"))) == ["linear"]


def test_the_constructor_keeps_names_and_defaults():
    source = task(
        "return x * self.s",
        init="self.s = scale",
        settings=", scale: float, eps: float = 1e-5",
        given="[2.0]",
    )
    surface = capture(source).surface
    assert surface.constructor == "scale: float, eps: float = 1e-05"
    assert surface.settings == {"scale": 2.0, "eps": 1e-5}


def test_an_optional_argument_that_is_not_given_is_its_default():
    graph = capture(task("return x if y is None else x + y", arguments="x, y=None, k=3"))
    assert [(argument.name, argument.default) for argument in graph.surface.arguments] == [
        ("x", None),
        ("y", "None"),
        ("k", "3"),
    ]


def test_an_input_that_is_returned_is_copied():
    assert operators(capture(task("return x.view(6, 4), x + 1"))) == ["add", "copy"]


def test_outputs_keep_their_containers():
    graph = capture(task("return {'a': (x + 1, x * 2), 'b': [x - 1, 7]}"))
    assert graph.output_structure == "{'a': ({0}, {1}), 'b': [{2}, {3}]}"
    assert graph.outputs[3] == 7


def test_a_short_constant_is_written_out():
    graph = capture(task("return x * self.c", init="self.c = torch.tensor([1.0, 2, 3, 4, 5, 7])"))
    (constant,) = graph.surface.constants
    assert constant.expression == "torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 7.0], dtype=torch.float32)"


@pytest.mark.parametrize(
    ("made", "expression"),
    [
        ("torch.arange(6.0)", "torch.arange(0.0, 5.5, 1.0, dtype=torch.float32)"),
        ("torch.ones(4, 6)", "torch.full((4, 6), 1.0, dtype=torch.float32)"),
        ("torch.ones(6, 6).tril()[:4]", None),
    ],
)
def test_a_buffer_outside_the_state_dict_is_made_again(made, expression):
    source = task("return x * self.c", init=f"self.register_buffer('c', {made}, persistent=False)")
    (constant,) = capture(source).surface.constants
    assert constant.value.source is Source.CONSTANT
    assert expression is None or constant.expression == expression


def test_a_constant_that_cannot_be_written_is_declined_by_name():
    source = task("return x * self.c", init="self.c = torch.randn(4, 6)", inputs="torch.randn(100, 4, 6)")
    with pytest.raises(Declined, match=r"c: is made by the constructor.*register it as a buffer"):
        capture(source.replace("torch.randn(4, 6)", "torch.randn(40, 6)").replace("100, 4, 6", "40, 6"))


def test_a_number_made_by_the_constructor_is_a_number():
    (node,) = capture(task("return x * self.c", init="self.c = torch.tensor(2.5)")).nodes
    assert node.inputs[1] == 2.5


def test_a_module_that_keeps_its_result_is_traced():
    source = task("self.last = x + 1; return self.last * 2", init="self.last = None")
    assert operators(capture(source)) == ["add", "mul"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            task("self.n += 1; return x + self.n", init="self.register_buffer('n', torch.zeros(()))"),
            "in place",
        ),
        (task("return x if x.sum() > 0 else -x"), "forward: cannot be traced"),
        (task("return x[0] + x[1]", inputs="[torch.randn(4), torch.randn(4)]"), "argument x is a list"),
        (task("return x[0]", arguments="*x"), r"takes \*args"),
        (task("return x * x.max().item()"), "a number out of a tensor"),
        (task("return x[x > 0]"), "depends on values"),
        (task("return torch.nonzero(x)"), "depends on values"),
    ],
)
def test_what_cannot_be_captured_is_declined_with_the_reason(source, message):
    with pytest.raises(Declined, match=message):
        capture(source)


@pytest.mark.parametrize(
    ("forward", "operator"),
    [
        ("return F.conv1d(x[None], torch.ones(3, 4, 2, device=x.device))", "aten.convolution"),
        ("return x.sort(-1)[0]", "aten.sort"),
        ("return F.interpolate(x[None], size=2 * x.shape[-1] + 1)", "aten.upsample_nearest1d"),
        ("return F.interpolate(x[None, :, :2], scale_factor=2.4)", "aten.upsample_nearest1d"),
    ],
)
def test_an_operator_without_a_recipe_is_declined_by_name(forward, operator):
    with pytest.raises(Declined, match=rf"{operator}: no recipe yet") as declined:
        make_plan(capture(task(forward)), GPUS["h200"])
    assert declined.value.operator == operator


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1", "no class Model"),
        (task("return x", init="raise ValueError('no luck')"), "the task's own code fails: no luck"),
        ("import no_such_library\n", "the task's own code fails: No module named 'no_such_library'"),
        (
            "import torch\nclass Model(torch.nn.Module):\n    pass\ndef get_init_inputs():\n    return []\n",
            "get_inputs",
        ),
    ],
)
def test_a_task_that_does_not_work_is_the_users_mistake(source, message):
    with pytest.raises(TaskError, match=message):
        capture(source)
