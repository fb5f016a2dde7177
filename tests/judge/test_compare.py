"""The tolerance: what counts as the same answer."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core import Precision, Tolerance
from warpsmith.judge.oracle import compare
from warpsmith.judge.oracle.compare import allowed_error, deviation, is_usable_truth, target
from warpsmith.judge.oracle.rounding import Rounding


def truth_of(tensor):
    return tensor.to(torch.complex128) if tensor.is_complex() else tensor.double()


def off(reference, answer, allowed=1e-5):
    return deviation(target(reference, truth_of(reference)), answer, allowed)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(compare, "BLOCK", 16)


X = torch.randn(9, 7, generator=torch.Generator().manual_seed(1))


def changed(index, value, x=X):
    y = x.clone()
    y[index] = value
    return y


def test_the_same_answer_has_no_error():
    assert off(X, X.clone()).error == 0.0


@pytest.mark.parametrize("layout", [lambda y: y.t().contiguous().t(), lambda y: y[:, torch.arange(7)]])
def test_the_layout_in_memory_does_not_matter(layout):
    assert off(X, layout(X)).error == 0.0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_where_the_reference_is_is_infinitely_wrong(small_blocks, value):
    found = off(X, changed((3, 4), value))
    assert found.error == math.inf
    assert (found.num_wrong, found.worst, found.first, found.last) == (1, 25, 25, 25)
    assert found.num_nan == int(math.isnan(value))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_in_the_reference_must_be_the_same(value):
    reference = changed((3, 4), value)
    assert off(reference, reference.clone()).error == 0.0
    assert off(reference, X).error == math.inf
    assert off(reference, changed((3, 4), 1.0 if math.isnan(value) else -value)).error == math.inf
    assert off(reference, changed((5, 5), math.nan, reference)).num_wrong == 1


def test_a_reference_that_overflows_where_truth_does_not_still_decides():
    reference, truth = changed((0, 0), math.inf), X.double()
    assert is_usable_truth(reference, truth)
    assert deviation(target(reference, truth), reference, 1e-5).error == 0.0
    assert deviation(target(reference, truth), X, 1e-5).error == math.inf


def test_the_error_is_relative_to_the_element_and_its_rows_scale():
    reference = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    scale = math.sqrt(12.5)
    found = off(reference, torch.tensor([[3.0, 4.1], [0.0, 0.0]]))
    assert found.error == pytest.approx(0.1 / (4.0 + scale), rel=1e-5)


def test_scaling_a_row_does_not_change_its_error():
    scales = torch.tensor([1.0, 1e-2, 4.0]).unsqueeze(1)
    reference = torch.randn(3, 64, generator=torch.Generator().manual_seed(2))
    answer = reference + 1e-4 * reference.flip(1)
    assert off(reference * scales, answer * scales).error == pytest.approx(
        off(reference, answer).error, rel=1e-3
    )


def test_a_row_of_almost_nothing_is_measured_against_the_whole():
    reference = torch.ones(2, 4)
    reference[1] = 1e-12
    assert off(reference, changed((1, 2), 2e-12, reference)).error < 1e-8


def test_zeros_must_be_answered_with_zeros():
    zeros = torch.zeros(3, 4)
    assert off(zeros, torch.zeros(3, 4)).error == 0.0
    assert off(zeros, changed((0, 0), 1e-30, zeros)).error == math.inf


@pytest.mark.parametrize("answer", [torch.zeros_like(X), torch.full_like(X, X.mean()), X.flip(0), X * 1.001])
def test_a_lazy_answer_is_wrong(answer):
    assert off(X, answer).num_wrong > 0


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.uint8, torch.bool])
def test_integers_and_booleans_are_exact(small_blocks, dtype):
    reference = (torch.arange(40).reshape(5, 8) % 3).to(dtype)
    assert off(reference, reference.clone(), 0.0).error == 0.0
    wrong = reference.clone()
    wrong[4, 7] = 1 - wrong[4, 7].to(torch.int64)
    wrong[0, 1] = 1 - wrong[0, 1].to(torch.int64)
    found = off(reference, wrong, 0.0)
    assert (found.num_wrong, found.first, found.last) == (2, 1, 39)


def test_a_complex_number_counts_in_both_parts():
    reference = torch.randn(4, 5, dtype=torch.complex64, generator=torch.Generator().manual_seed(3))
    found = off(reference, changed((2, 3), reference[2, 3] + 0.1j, reference))
    assert (found.num_wrong, found.worst) == (1, 13)
    assert off(reference.conj(), reference.conj().resolve_conj()).error == 0.0


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0), (0, 3), (2, 1, 3), (40,)])
def test_every_shape_can_be_compared(small_blocks, shape):
    reference = torch.ones(shape)
    assert off(reference, reference.clone()).error == 0.0
    if reference.numel():
        assert off(reference, reference + 1).num_wrong == reference.numel()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn])
def test_half_precision_is_compared_in_double(dtype):
    reference = X.to(dtype)
    assert off(reference, reference.clone()).error == 0.0


@given(st.integers(1, 12), st.integers(1, 40), st.integers(1, 64), st.integers(0, 2**30))
@settings(max_examples=30, deadline=None)
def test_the_size_of_blocks_does_not_matter(rows, cols, block, seed):
    generator = torch.Generator().manual_seed(seed)
    reference = torch.randn(rows, cols, generator=generator)
    answer = reference + 1e-5 * torch.randn(rows, cols, generator=generator)
    whole = off(reference, answer, 5e-6)
    before, compare.BLOCK = compare.BLOCK, block
    try:
        pieces = off(reference, answer, 5e-6)
    finally:
        compare.BLOCK = before
    assert pieces.error == pytest.approx(whole.error, rel=1e-9)
    assert (pieces.num_wrong, pieces.first, pieces.last) == (whole.num_wrong, whole.first, whole.last)


# --- what is allowed ---


def allowed(dtype=torch.float32, reference_error=0.0, precision=Precision.REFERENCE, has_truth=True):
    return allowed_error(dtype, reference_error, Tolerance(), precision, has_truth=has_truth)


def test_sixteen_times_the_references_error_or_eight_epsilons():
    assert allowed(reference_error=1e-5) == pytest.approx(1.6e-4)
    assert allowed(reference_error=0.0) == pytest.approx(8 * 2**-23)


def test_tf32_is_allowed_only_where_the_task_says_so():
    assert allowed(precision=Precision.TF32) == pytest.approx(8 * 2**-10)


def rounding(half_max, length=1, reference_error=1e-7):
    return Rounding(
        exact_rms=reference_error,
        tf32_rms=half_max / 8,
        cut_rms=half_max / 8,
        half_rms=half_max,
        exact_max=reference_error,
        tf32_max=half_max / 8,
        half_max=half_max,
        length=length,
    )


@pytest.mark.parametrize(
    ("half_max", "length", "expected"),
    [
        (2**-8, 1, 8 * 2**-23),
        (2**-8, 1 << 14, 128 * 2**-23),
        (2**-8, 1 << 30, 2**-10),
        (2**-20, 1 << 14, 16 * 2**-23),
        (1.0, 1 << 14, 64 * 128 * 2**-23),
    ],
    ids=["no sum", "a long sum", "half precision bounds it", "but not below blocks", "blown up"],
)
def test_long_sums_are_allowed_what_adding_one_by_one_does(half_max, length, expected):
    found = allowed_error(
        torch.float32,
        0.0,
        Tolerance(),
        Precision.REFERENCE,
        has_truth=True,
        rounding=rounding(half_max, length),
    )
    assert found == pytest.approx(expected)


def test_exact_outputs_are_allowed_nothing():
    assert allowed(torch.int64, 1.0) == 0.0


def test_without_truth_the_bound_follows_from_the_dtype():
    assert allowed(has_truth=False) == pytest.approx(1024 * 2**-23)
    assert allowed(torch.bfloat16, has_truth=False) == pytest.approx(8 * 2**-7)


def test_truth_must_be_finer_of_the_same_shape_and_finite_where_the_reference_is():
    assert is_usable_truth(X, X.double())
    assert not is_usable_truth(X, X)
    assert not is_usable_truth(X.double(), X.double())
    assert not is_usable_truth(X, X.double()[0])
    assert not is_usable_truth(X, changed((0, 0), math.nan).double())
