"""Another size of the same task: which number is rewritten, and to what."""

import pytest

from warpsmith.judge.resizing import resized

TASK = """
import torch

{constants}


class Model(torch.nn.Module):
    def __init__(self, *width):
        super().__init__()
        {init}

    def forward(self, x):
        return x


def get_init_inputs():
    return [{arguments}]


def get_inputs():
    {inputs}
"""


def sizes(constants, inputs, *, arguments="", init="pass"):
    source = TASK.format(constants=constants, inputs=inputs, arguments=arguments, init=init)
    return [(size.name, size.scale) for size in resized(source)]


@pytest.mark.parametrize(
    ("constants", "inputs", "more", "expected"),
    [
        ("batch_size = 16\ndim = 64", "return [torch.rand(batch_size, dim)]", {"arguments": "dim"}, 9 / 16),
        ("dim = 64\nbatch_size = 4", "return [torch.rand(batch_size, dim)]", {}, 3 / 4),
        ("batch_size = 2", "return [torch.rand(batch_size)]", {}, 3 / 2),
        ("rows: int = 5\nsize = (rows, 3)", "return [torch.rand(*size)]", {}, 3 / 5),
        ("SCALE = 0.5", "return [torch.rand(int(64 * SCALE))]", {}, 0.4375),
        ("def rows():\n    return N\n\nN = 4096", "return [torch.rand(rows())]", {}, 2049 / 4096),
    ],
    ids=["batch", "batch first", "two", "annotated and indirect", "scale", "by a function"],
)
def test_a_constant_that_feeds_the_inputs_alone_is_made_odd(constants, inputs, more, expected):
    assert sizes(constants, inputs, **more)[0][1] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("constants", "inputs", "more"),
    [
        ("dim = 64", "return [torch.rand(dim)]", {"arguments": "dim"}),
        ("dim = 64\nwide = 2 * dim", "return [torch.rand(dim)]", {"arguments": "wide"}),
        ("dim = 64", "return [torch.rand(dim)]", {"init": "self.dim = dim"}),
        ("SCALE = 0.5\ndef width():\n    return SCALE", "return [width()]", {"arguments": "width()"}),
        ("eps = 1e-6\nTRUE = True", "return [torch.tensor(eps), TRUE]", {}),
        ("dim = 64", "return [torch.rand(())]", {}),
    ],
    ids=["constructor", "indirect", "model", "scale", "no size", "unused"],
)
def test_what_decides_about_the_model_is_left_alone(constants, inputs, more):
    assert sizes(constants, inputs, **more) == []


def test_a_number_written_into_get_inputs_will_do():
    assert sizes("", "return [torch.rand(64, 33)]") == [("64", 33 / 64), ("33", 17 / 33)]


def test_only_the_number_itself_is_rewritten():
    source = TASK.format(
        constants='text = "ü batch = 16"; batch = 16  # batch = 16',
        inputs="return [torch.rand(batch)]",
        arguments="",
        init="pass",
    )
    assert resized(source)[0].source == source.replace("; batch = 16", "; batch = 9")


@pytest.mark.parametrize("source", ["", "def", "x = 1", "\0", "get_inputs = None"])
def test_what_is_no_task_has_no_other_size(source):
    assert resized(source) == ()
