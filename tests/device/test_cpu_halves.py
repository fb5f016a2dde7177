"""Half precision and bfloat16, against rounding done another way."""

import numpy as np
import pytest

SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    65504,
    65519.99,
    65520,
    6e-8,
    2.9e-8,
    3.1e-8,
    6.1e-5,
    1e-40,
    3.4e38,
    2049,
    2051,
]


def bfloat_bits(x):
    """Round to nearest even in whole arithmetic of the float's bits."""
    bits = np.float32(x).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FFF), rounded)


def bfloat_values(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def encode(x, is_half):
    with np.errstate(over="ignore", under="ignore"):
        return x.astype(np.float16).view(np.uint16) if is_half else bfloat_bits(x.astype(np.float32))


def decode(bits, is_half):
    return bits.view(np.float16).astype(np.float32) if is_half else bfloat_values(bits)


def numbers(rng, n):
    return (rng.standard_normal(n) * 2.0 ** rng.integers(-12, 12, n)).astype(np.float32)


@pytest.mark.parametrize("is_half", [True, False])
def test_floats_round_to_the_nearest_even(halves, rng, is_half):
    ties = np.arange(2048, 2176, dtype=np.float32) + 0.5
    x = np.concatenate([np.float32(SPECIAL), ties, ties * 2**-20, numbers(rng, 5000), -ties])
    bits, back = np.zeros(x.size, np.uint16), np.zeros(x.size, np.float32)
    halves.ok("run_round_trip", x, bits, back, x.size, int(is_half))
    np.testing.assert_array_equal(bits, encode(x, is_half))
    np.testing.assert_array_equal(back, decode(bits, is_half))


@pytest.mark.parametrize("is_half", [True, False])
def test_every_bit_pattern_survives_the_way_to_float_and_back(halves, is_half):
    patterns = np.arange(1 << 16).astype(np.uint16)
    values = decode(patterns, is_half)
    bits, back = np.zeros(values.size, np.uint16), np.zeros(values.size, np.float32)
    halves.ok("run_round_trip", values, bits, back, values.size, int(is_half))
    is_number = ~np.isnan(values)
    np.testing.assert_array_equal(bits[is_number], patterns[is_number])
    assert np.isnan(decode(bits[~is_number], is_half)).all()


@pytest.mark.parametrize("is_half", [True, False])
def test_arithmetic_rounds_once(halves, rng, is_half):
    n = 4096
    a, b, c = (encode(numbers(rng, n), is_half) for _ in range(3))
    out = np.zeros((8, n), np.uint16)
    halves.ok("run_arithmetic", a, b, c, out, n, int(is_half))
    x, y, z = (decode(bits, is_half).astype(np.float64) for bits in (a, b, c))
    sums = decode(encode(x + y, is_half), is_half).astype(np.float64)
    exact = [x + y, x - y, x * y, x / y, x * y + z, np.maximum(x, y), -x, sums * z]
    for row, values in zip(out, exact, strict=True):
        expected = encode(values, is_half) if is_half else bfloat_from_double(values)
        np.testing.assert_array_equal(row, expected)


def bfloat_from_double(values):
    """By exact comparison of the two neighbours; doubles hold these results exactly or to 53 bits."""
    low = bfloat_values(bfloat_bits(values.astype(np.float32)) - np.uint16(1))
    candidates = np.stack(
        [np.nextafter(low, low)] + [bfloat_values(bfloat_bits(low) + np.uint16(i)) for i in range(3)]
    )
    distances = np.abs(candidates.astype(np.float64) - values)
    nearest = distances == distances.min(axis=0)
    bits = bfloat_bits(candidates)
    is_even = bits % 2 == 0
    choice = np.where(nearest.sum(axis=0) > 1, (nearest & is_even).argmax(axis=0), nearest.argmax(axis=0))
    chosen = np.take_along_axis(bits, choice[None], axis=0)[0]
    return np.where(values == 0, np.signbit(values).astype(np.uint16) << 15, chosen)


@pytest.mark.parametrize("is_half", [True, False])
def test_comparisons_treat_nan_and_signed_zero_as_ieee_does(halves, is_half):
    values = np.float32([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan])
    a, b = (side.ravel() for side in np.meshgrid(values, values))
    out = np.zeros(a.size, np.int32)
    halves.ok("run_comparisons", encode(a, is_half), encode(b, is_half), out, a.size, int(is_half))
    unordered = np.isnan(a) | np.isnan(b)
    flags = [a < b, a <= b, a == b, a != b, a > b, a >= b, (a == b) | unordered, np.isnan(a), np.isinf(a)]
    np.testing.assert_array_equal(out, sum(flag.astype(int) << place for place, flag in enumerate(flags)))


@pytest.mark.parametrize("is_half", [True, False])
def test_pairs_are_computed_element_by_element(halves, rng, is_half):
    n = 64
    a, b = (encode(rng.uniform(-2, 2, (n, 2)), is_half) for _ in range(2))
    out, wide = np.zeros((2, n, 2), np.uint16), np.zeros((n, 2), np.float32)
    halves.ok("run_pairs", a, b, out, wide, n, int(is_half))
    x, y = (decode(bits, is_half).astype(np.float64) for bits in (a, b))
    product = decode(encode(x * y, is_half), is_half).astype(np.float64)
    for row, exact in zip(out, (x * y + 1, product + y[:, ::-1]), strict=True):
        np.testing.assert_array_equal(row, encode(exact, is_half) if is_half else bfloat_from_double(exact))
    np.testing.assert_array_equal(wide, np.minimum(x, y).astype(np.float32))


def test_conversions_between_formats_and_integers(halves):
    out = np.zeros(16, np.float32)
    halves.ok("run_conversions", out)
    expected = [2.75, 7, 3, 2, -4, 2048, 2050, -2050, 65504, np.inf, 1, 0x4000, 3, 1.5, 2.5, 1 + 1 / 1024]
    assert out.tolist() == expected
