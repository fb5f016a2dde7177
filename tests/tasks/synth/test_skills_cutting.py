"""Parts of a task: put together they compute what the whole does, and what cannot be cut is told."""

import pytest
import torch

from warpsmith.core import Task
from warpsmith.tasks.scale import with_scale
from warpsmith.tasks.synth.skills.cutting import pieces
from warpsmith.tasks.synth.skills.straight import Uncut

HEAD = """import math
import torch
import torch.nn.functional as F
from torch import nn

SCALE = 1.0
ROWS = 64
WIDTH = 6


def halved(number):
    return number // 2

"""
TAIL = """

def get_init_inputs():
    return [WIDTH, 0.5]


def get_inputs():
    rows = max(2, int(ROWS * SCALE))
    return [torch.randn(rows, WIDTH), torch.rand(WIDTH)]
"""
MODEL = """
class Model(nn.Module):
    '''A whole.'''

    def __init__(self, width, slope):
        super().__init__()
        hidden = 2 * width
        self.up = nn.Linear(width, hidden)
        self.slope = slope
        self.net = nn.Sequential(nn.Tanh(), nn.Linear(hidden, width))
        self.register_buffer("shift", torch.ones(width))
        nn.init.ones_(self.up.bias)

    def forward(self, x, y):
        gate: torch.Tensor = torch.sigmoid(self.up(x)[:, : halved(2 * x.size(1))] * y)
        top = torch.sort(gate, dim=-1).values
        z = self.net(F.leaky_relu(self.up(x), negative_slope=self.slope))
        x = top + math.sqrt(2.0) * z
        return x.view(x.shape[0], -1) - self.shift
"""


def task(model=MODEL, head=HEAD, tail=TAIL):
    return Task(task_id="whole", source=head + model + tail, provenance="tests")


def executed(source):
    names = {}
    exec(compile(source, "task.py", "exec"), names)
    return names


def model_of(names, state=None):
    model = names["Model"](*names["get_init_inputs"]()).eval()
    if state is not None:
        model.load_state_dict({name: state[name] for name in model.state_dict()})
    return model


@pytest.fixture(scope="module")
def parts():
    return list(pieces(task()))


def part_with(parts, text, *arguments):
    """The single step that says `text`."""
    (found,) = [
        part
        for part in parts
        if len(part.steps) == 1
        and text in part.task.source.partition("class Before")[0]
        and part.arguments == arguments
    ]
    return found


CHAIN = """
class Model(nn.Module):
    def __init__(self, width, slope):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.slope = slope
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        x = F.leaky_relu(self.up(x), negative_slope=self.slope)
        x = self.down(torch.tanh(x))
        return torch.softmax(x - 1.0, dim=-1)
"""


def test_two_parts_one_after_the_other_compute_what_the_whole_does():
    whole = task(CHAIN, tail=TAIL.replace(", torch.rand(WIDTH)", ""))
    found = {(part.steps.start, part.steps.stop): executed(part.task.source) for part in pieces(whole)}
    num_steps = max(stop for _, stop in found)
    names = executed(whole.source)
    model, inputs = model_of(names), names["get_inputs"]()
    assert num_steps == 6
    with torch.no_grad():
        expected = model(*inputs)
        for cut in range(1, num_steps):
            first, rest = (model_of(found[span], model.state_dict()) for span in ((0, cut), (cut, num_steps)))
            assert torch.equal(rest(first(*inputs)), expected)


def test_a_part_gives_one_thing_to_the_steps_after_it(parts):
    spans = [(part.steps.start, part.steps.stop) for part in parts]
    assert (0, 3) in spans, "the gate"
    assert (3, 5) not in spans, "top, and what begins the other branch"


def test_every_part_runs_and_is_given_contiguous_tensors(parts):
    for part in parts:
        names = executed(with_scale(part.task.source, "part", 0.1, "cpu")[0])
        inputs = names["get_inputs"]()
        assert len(inputs) == len(part.arguments)
        assert all(one.is_contiguous() for one in inputs)
        with torch.no_grad():
            model_of(names)(*inputs)


def test_numbers_come_in_as_they_do_in_the_whole(parts):
    (gate,) = executed(part_with(parts, "torch.sort", "gate").task.source)["get_inputs"]()
    assert bool(((gate > 0) & (gate < 1)).all())


def test_a_part_has_only_what_it_needs(parts):
    part = part_with(parts, "leaky_relu", "part3")
    model = part.task.source.partition("class Before")[0]
    assert "halved" not in model
    assert "import math" not in part.task.source
    assert (part.init, part.init_arguments) == (("self.slope = slope",), ("slope",))
    assert "nn.init.ones_(self.up.bias)" in part.task.source.partition("class Before")[2]


def test_a_choice_out_of_several_results_is_one_step(parts):
    assert "torch.sort(gate, dim=-1).values" in part_with(parts, "torch.sort", "gate").task.source


def test_numbers_are_computed_where_they_are_used(parts):
    assert part_with(parts, "self.up(x)[:, :halved(2 * x.size(1))]", "x").init_arguments == ("width",)


def test_a_task_of_one_step_is_its_own_part():
    model = "\nclass Model(nn.Module):\n    def forward(self, x, y):\n        return torch.lerp(x, y, 0.5)\n"
    (part,) = pieces(task(model, tail=TAIL.replace("WIDTH, 0.5", "")))
    assert "Before" not in part.task.source
    assert part.arguments == ("x", "y")


FORWARD = "        return x.view(x.shape[0], -1) - self.shift\n"
INPUTS = "    return [torch.randn(rows, WIDTH), torch.rand(WIDTH)]"
REFUSED = (
    (FORWARD, "        if x.sum() > 0:\n            x = x + 1\n        return x\n", "is a If"),
    (FORWARD, "        return x\n        return y\n", "is a Return"),
    (FORWARD, "        a, b = x, y\n        return a\n", "is a Assign"),
    (FORWARD, "        return x.relu_()\n", "in place: relu_"),
    (FORWARD, "        return F.relu(x, inplace=True)\n", "in place"),
    (FORWARD, "        return torch.exp(x, out=y)\n", "in place"),
    (FORWARD, "        return sum([x for _ in range(3)])\n", "comprehension"),
    (FORWARD, FORWARD + "\n    def more(self):\n        return 1\n", "other methods"),
    ("class Model(nn.Module)", "class Model(Base)", "no direct nn.Module"),
    ("        self.slope = slope\n", "        if slope:\n            pass\n", "__init__ does more"),
    ("def forward(self, x, y):", "def forward(self, x, y=None):", "need not be given"),
    ("def forward(self, x, y):", "def forward(this, x, y):", "does not call its model self"),
    ("self.slope)", "self.slop)", "does not set self.slop"),
    (INPUTS, "    return make(rows)", "get_inputs does not end with a list"),
    (", torch.rand(WIDTH)]", "]", "each argument of forward"),
    ("return [WIDTH, 0.5]", "return [WIDTH]", "each argument of __init__"),
    ("\nclass Model(", "\nclass Model: ...\nclass Model(", "defines Model 2 times"),
    ("def halved", "def whole_inputs():\n    pass\n\n\ndef halved", "names that its parts need"),
    ("class Model", "class class", "not valid Python"),
)


@pytest.mark.parametrize(("old", "new", "says"), REFUSED, ids=[says for _, _, says in REFUSED])
def test_what_is_no_straight_line_is_left_whole_with_a_reason(old, new, says):
    whole = task().source
    assert old in whole
    with pytest.raises(Uncut, match=says):
        pieces(Task(task_id="whole", source=whole.replace(old, new), provenance="tests"))


def test_a_tree_too_deep_to_walk_is_left_whole():
    deep = FORWARD.replace("x.view", "+".join(["x"] * 900) + " + x.view")
    with pytest.raises(Uncut, match="nested too deeply"):
        pieces(task(MODEL.replace(FORWARD, deep)))


def test_a_long_task_gives_short_parts_at_once():
    lines = "\n".join(f"        x = torch.relu(x + {number})" for number in range(150))
    found = pieces(task(MODEL.replace(FORWARD, f"{lines}\n{FORWARD}")))
    assert len(next(found).steps) == 1
