"""Integer and boolean outputs: exact, but for what is as right."""

import pytest
import torch

from warpsmith.judge.oracle.choices import ChoiceWatch
from warpsmith.judge.oracle.compare import deviation, settled, target

LEVEL = torch.tensor([[1.0, 3.0, 3.0, 2.0], [5.0, 4.0, 5.0, 5.0]])


def chosen(choose, x):
    """The target of an index that `choose` makes of an input, with `choose` seen at work in float64."""
    with ChoiceWatch() as watch:
        truth = choose(x.double())
    return target(choose(x), truth, watch.choice(truth, [x]))


def is_right(goal, answer):
    return deviation(goal, settled(goal, torch.as_tensor(answer)), 0.0).error == 0.0


@pytest.mark.parametrize(
    ("choose", "right", "wrong"),
    [
        (lambda x: x.argmax(1), [[1, 0], [2, 3], [1, 2]], [[0, 0], [1, 1], [-1, 0], [4, 0]]),
        (lambda x: x.argmax(1, keepdim=True), [[[2], [2]]], [[[3], [0]]]),
        (lambda x: x.argmax(), [4, 6, 7], [0, 5, 8]),
        (lambda x: x.max(1).indices, [[1, 3]], [[3, 3]]),
        (lambda x: x.argmin(-1), [[0, 1]], [[0, 0]]),
        (lambda x: x.topk(2, 1).indices, [[[2, 1], [3, 0]], [[1, 2], [0, 2]]], [[[1, 1], [0, 2]]]),
        (lambda x: x.sort(1).indices, [[[0, 3, 2, 1], [1, 0, 2, 3]]], [[[0, 3, 2, 2], [1, 0, 2, 3]]]),
        (
            lambda x: x.argsort(1, descending=True),
            [[[2, 1, 3, 0], [3, 2, 0, 1]]],
            [[[2, 3, 1, 0], [3, 2, 0, 1]]],
        ),
    ],
    ids=["argmax", "keepdim", "flat", "max", "argmin", "topk", "sort", "argsort"],
)
def test_an_index_is_right_if_the_value_there_is(choose, right, wrong):
    goal = chosen(choose, LEVEL)
    assert is_right(goal, choose(LEVEL))
    assert all(is_right(goal, answer) for answer in right)
    assert not any(is_right(goal, answer) for answer in wrong)


def test_values_that_an_fp32_program_cannot_order_are_level_but_inputs_are_not():
    x = torch.tensor([[1.0, 1.0 + 2.0**-22, 0.5]])
    assert not is_right(chosen(lambda y: y.argmax(1), x), [0])
    computed = chosen(lambda y: (2 * y).argmax(1), x)
    assert is_right(computed, [0])
    assert not is_right(computed, [2])


def test_where_float64_decides_otherwise_either_answer_is_right():
    reference, truth = torch.tensor([0, 1, 2]), torch.tensor([0, 1, 3])
    goal = target(reference, truth)
    assert is_right(goal, reference)
    assert is_right(goal, truth)
    assert not is_right(goal, [0, 2, 2])


def test_a_boolean_is_exact_but_for_what_float64_says():
    reference = torch.tensor([True, False])
    assert is_right(target(reference, reference), reference)
    assert not is_right(target(reference, reference), [True, True])
    assert is_right(target(reference, torch.tensor([True, True])), [True, True])


@pytest.mark.parametrize(
    "choose", [lambda x: x.argmax(1) + 1, lambda x: (x > 1).long(), lambda x: x.argmax(1).to(torch.int32)]
)
def test_an_index_that_was_computed_with_is_exact(choose):
    goal = chosen(choose, LEVEL)
    assert goal.choice is None
    assert is_right(goal, choose(LEVEL))
