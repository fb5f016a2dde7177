"""A convolution as a gather: every product that the definition names, once, and no other."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.device import GPUS
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.plan import make_plan
from warpsmith.policy.builtin.recipes.base import Declined
from warpsmith.policy.builtin.recipes.conv_geometry import Axis
from warpsmith.policy.builtin.recipes.conv_reading import read_convolution
from warpsmith.policy.builtin.recipes.conv_text import reciprocal

MODULE = """\
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = {module}

    def forward(self, x):
        return self.c(x)

def get_inputs():
    return [torch.empty({shape})]

def get_init_inputs():
    return []
"""


def convolution(module, *shape):
    (node,) = capture(MODULE.format(module=module, shape=shape)).nodes
    return read_convolution(node)


@st.composite
def axes(draw):
    kernel, stride, dilation = (draw(st.integers(1, most)) for most in (5, 4, 3))
    padding = draw(st.integers(0, 4))
    span = dilation * (kernel - 1) + 1
    is_transposed = draw(st.booleans())
    size = draw(st.integers(1, 12))
    if is_transposed:
        out = (size - 1) * stride - 2 * padding + span + draw(st.integers(0, stride - 1))
    else:
        out = (size + 2 * padding - span) // stride + 1
    return Axis(
        size=size,
        out=max(out, 1),
        kernel=kernel,
        stride=stride,
        padding=padding,
        dilation=dilation,
        is_transposed=is_transposed,
    )


def defined(axis):
    """(output, input, tap) of every product, as the definition says."""
    for output, tap, place in itertools.product(range(axis.out), range(axis.kernel), range(axis.size)):
        read, written = (place, output) if axis.is_transposed else (output, place)
        if read * axis.stride - axis.padding + tap * axis.dilation == written:
            yield output, place, tap


def gathered(axis):
    """The same as the kernels sum them."""
    for phase in range(axis.num_phases):
        for count, (tap, first) in itertools.product(range(axis.num_outputs(phase)), axis.taps(phase)):
            place = first + count * axis.read_step
            if 0 <= place < axis.size:
                yield phase + count * axis.step, place, tap


@given(axis=axes())
@settings(max_examples=300, deadline=None, database=None, derandomize=True)
def test_the_gather_names_the_products_of_the_definition(axis):
    products = list(gathered(axis))
    assert sorted(products) == sorted(defined(axis))
    assert {output for output, _, _ in products} <= set(range(axis.out))


@given(axis=axes())
@settings(max_examples=300, deadline=None, database=None, derandomize=True)
def test_bounds_are_checked_wherever_an_input_may_be_missed(axis):
    reads = [
        first + count * axis.read_step
        for phase in range(axis.num_phases)
        for count, (_, first) in itertools.product(range(axis.num_outputs(phase)), axis.taps(phase))
    ]
    assert axis.may_miss == any(not 0 <= read < axis.size for read in reads)


@given(divisor=st.integers(2, 2**31 - 1), number=st.integers(0, 2**31 - 1))
@settings(max_examples=500, deadline=None, database=None, derandomize=True)
def test_a_reciprocal_divides(divisor, number):
    multiplier, shift = reciprocal(divisor)
    assert multiplier < 2**32
    multiple = number // divisor * divisor
    for each in (number, multiple, max(multiple - 1, 0)):
        assert (each * multiplier >> 32) >> shift == each // divisor


def test_a_transposed_convolution_multiplies_no_inserted_zeros():
    plain = convolution("nn.Conv2d(4, 8, 2, 2)", 3, 4, 8, 10)
    transposed = convolution("nn.ConvTranspose2d(8, 4, 2, 2)", 3, 8, 4, 5)
    assert plain.flops == transposed.flops == 2 * 3 * 8 * 4 * 5 * 4 * 4
    assert len(plain.phases) == 1
    assert [len(phase.taps) for phase in transposed.phases] == [1] * 4


def test_outputs_that_no_tap_reaches_are_a_phase_of_their_own():
    gaps = convolution("nn.ConvTranspose1d(1, 1, 2, 4)", 1, 1, 3)
    assert [len(phase.taps) for phase in gaps.phases] == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("module", "shape"),
    [
        ("nn.Conv2d(2, 2, 1).double()", (1, 2, 4, 4)),
        ("nn.Conv1d(1, 1, 5000)", (1, 1, 6000)),
        ("nn.Conv2d(8, 8, 1)", (1, 8, 20000, 20000)),
        ("nn.ConvTranspose1d(1, 1, 3, 300)", (1, 1, 4)),
        ("nn.Conv1d(1, 1, 2, dilation=40000)", (1, 1, 80000)),
    ],
    ids=["float64", "too many taps", "an image beyond 32-bit indices", "too many phases", "too wide a step"],
)
def test_what_does_not_fit_the_kernels_is_declined(module, shape):
    source = MODULE.format(module=module, shape=shape).replace(
        "torch.empty(",
        "torch.empty(dtype=torch.float64, size=" if "double" in module else "torch.empty(size=",
    )
    graph = capture(source)
    with pytest.raises(Declined, match=r"aten\.convolution"):
        make_plan(graph, GPUS["h200"])
