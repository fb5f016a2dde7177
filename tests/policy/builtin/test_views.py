"""Views computed here are those of PyTorch."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from warpsmith.policy.builtin import views
from warpsmith.policy.builtin.graph import Source, Value, View

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def whole(shape):
    return View.whole(Value(name="x", shape=shape, dtype="int64", source=Source.INPUT))


def seen(view):
    """What `view` reads of 0, 1, 2, …"""
    storage = torch.arange(view.value.numel)
    return storage.as_strided(view.shape, view.strides, view.offset)


def expected(shape):
    return torch.arange(math.prod(shape)).reshape(shape)


@given(shape=SHAPES, data=st.data())
def test_a_permuted_view_is_reshaped_without_a_copy_exactly_where_torch_can(shape, data):
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    target = data.draw(
        st.sampled_from([(math.prod(shape),), shape[::-1], (*shape, 1), tuple(shape[k] for k in order)])
    )
    permuted = views.permute(whole(shape), order)
    tensor = expected(shape).permute(order)
    try:
        viewed = tensor.view(target)
    except RuntimeError:
        assert views.reshape(permuted, target) is None
    else:
        assert torch.equal(seen(views.reshape(permuted, target)), viewed)


@given(shape=SHAPES, lead=st.integers(1, 3))
def test_an_expanded_view_repeats(shape, lead):
    wide = (lead, *shape)
    assert torch.equal(seen(views.expand(whole(shape), wide)), expected(shape).expand(wide))


def test_cuts_and_axes_are_those_of_torch():
    view, tensor = whole((4, 6)), expected((4, 6))
    assert torch.equal(seen(views.cut(view, 1, 1, 2, step=3)), tensor[:, 1::3])
    assert torch.equal(seen(views.without_axis(views.cut(view, 0, 2, 1), 0)), tensor[2])
    assert torch.equal(seen(views.with_axis(view, 1)), tensor[:, None])


def test_axes_that_are_walked_alike_collapse():
    assert views.collapse((2, 3, 4), (12, 4, 1), (12, 4, 1)) == ((24,), ((1,), (1,)))
    assert views.collapse((2, 3, 4), (12, 4, 1), (0, 4, 1)) == ((2, 12), ((12, 1), (0, 1)))
    assert views.collapse((1, 1), (5, 7)) == ((), ((),))


@pytest.mark.parametrize(
    ("view", "is_in_order"),
    [
        (whole((2, 3)), True),
        (views.reshape(whole((2, 3)), (3, 2)), True),
        (views.permute(whole((2, 3)), (1, 0)), False),
        (views.permute(whole((1, 3)), (1, 0)), True),
        (views.expand(whole((1, 3)), (2, 3)), False),
        (views.cut(whole((4,)), 0, 1, 3), False),
    ],
)
def test_a_view_is_in_order_if_it_reads_everything_as_it_lies(view, is_in_order):
    assert view.is_in_order is is_in_order
