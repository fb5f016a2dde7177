"""Vector types, mathematical functions, intrinsics."""

import time

import numpy as np
import pytest
import scipy.special


def test_vector_types_have_cudas_sizes_and_alignments(maths):
    out = np.zeros(13, np.int32)
    maths.ok("run_vector_sizes", out)
    assert out.tolist() == [3, 4, 8, 12, 16, 16, 8, 4, 8, 4, 16, 16, 8]


def test_floats_are_read_and_written_four_at_once(maths, rng):
    x = rng.random(4000, np.float32)
    out = np.zeros_like(x)
    maths.ok("run_scale4", x, out, x.size)
    np.testing.assert_array_equal(out, x * np.tile(np.float32([2, 3, 4, 5]), 1000))


FUNCTIONS = [
    np.exp,
    np.exp,
    np.exp2,
    lambda x: np.log(np.abs(x) + 1),
    lambda x: np.log1p(np.abs(x)),
    lambda x: 1 / np.sqrt(np.abs(x) + 1),
    np.tanh,
    scipy.special.erf,
    scipy.special.ndtr,
    lambda x: 1 / x,
    lambda x: 1 / x,
    lambda x: x * x + 1,
    lambda x: np.sin(x) + np.cos(x),
    np.cbrt,
    lambda x: scipy.special.erfinv(np.tanh(x).astype(np.float32).astype(np.float64)),
    lambda x: 10**x,
    lambda x: np.clip(x, 0, 1),
    lambda x: np.sin(np.pi * x),
    lambda x: np.sin(x) * np.cos(x),
    lambda x: np.maximum(x, 0.5) + np.minimum(x, -0.5) + np.maximum(x, 2) + np.minimum(x, -2),
    lambda x: np.exp(x) + np.sqrt(np.abs(x)),
    lambda x: np.abs(x) ** 1.5 + np.sign(x) + np.fmod(x, 1),
    lambda x: np.ceil(x) + np.floor(x) + np.rint(x) + np.trunc(x),
]


@pytest.mark.parametrize("which", range(len(FUNCTIONS)))
def test_functions_of_one_float_are_accurate(maths, rng, which):
    x = rng.uniform(-3, 3, 2000).astype(np.float32)
    out = np.zeros_like(x)
    maths.ok("run_unary", x, out, x.size, which)
    np.testing.assert_allclose(out, FUNCTIONS[which](x.astype(np.float64)), rtol=3e-6, atol=3e-7)


def test_integer_and_bit_intrinsics(maths):
    out = np.zeros(31, np.int64)
    maths.ok("run_integers", out)
    expected = [8, 31, 32, 4, 0, 1, 64, 63, -15, 3, -1, 3, 0x77552211, 3, 15, 2, -2, 3, -3, 2**31 - 1, 0]
    expected += [0x3F800000, 2, 3, 5, -1, 17, 4, 1, 7, 8]
    assert out.tolist() == expected


def test_operations_that_round_by_themselves_are_not_fused(maths, rng):
    x, y = rng.random(64, np.float32), rng.random(64, np.float32)
    out = np.ones(128, np.float32)
    maths.ok("run_separate_rounding", x, y, out, 64)
    np.testing.assert_array_equal(out[:64], 0)
    assert (out[64:] > 0).mean() > 0.9  # rounding up and rounding down differ unless the product is exact


@pytest.mark.parametrize("maths", ["cpu"], indirect=True)
def test_an_elementwise_kernel_over_four_million_elements_takes_tens_of_milliseconds(maths, rng):
    n = 1 << 22
    a, b = rng.random(n, np.float32), rng.random(n, np.float32)
    c = np.zeros_like(a)
    maths.ok("run_add", a, b, c, n)
    np.testing.assert_array_equal(c, a + b)
    start = time.process_time()
    maths.ok("run_add", a, b, c, n)
    assert time.process_time() - start < 0.4  # about 0.04 s on an idle core
