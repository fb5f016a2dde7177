"""Atomics, device variables, constant memory, allocation and copies."""

import ctypes

import numpy as np
import pytest


class Cells(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int) for name in ("add", "sub", "min", "max", "and_", "or_", "xor", "seen")),
        ("inc", ctypes.c_uint),
        ("dec", ctypes.c_uint),
        ("wide_add", ctypes.c_ulonglong),
        ("wide_max", ctypes.c_ulonglong),
        ("f_add", ctypes.c_float),
        ("d_add", ctypes.c_double),
    ]


def test_a_histogram_counts_every_element(atomics, rng):
    x = rng.integers(0, 37, 200_000, np.int32)
    bins = np.full(37, -5, np.int32)
    atomics.ok("run_histogram", x, bins, x.size, 37)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=37))


def test_every_atomic_does_what_its_name_says(atomics):
    cells = Cells(min=1000, max=-1, and_=0xFFF)
    half, bfloat = np.zeros(1, np.float16), np.zeros(1, np.uint16)
    buffer = np.frombuffer(cells, np.uint8)
    atomics.ok("run_every_atomic", buffer, half, bfloat)
    assert (cells.add, cells.sub, cells.min, cells.max) == (256, -384, -27, 127)
    assert (cells.and_, cells.or_, cells.xor) == (0xF00, 0xFFFFF, np.bitwise_xor.reduce(np.arange(128)))
    assert (cells.inc, cells.dec) == (128 % 10, 2)
    assert (cells.wide_add, cells.wide_max) == (128 << 33, 127 << 40)
    assert (cells.f_add, cells.d_add) == (64.0, 32.0)
    assert half[0] == 128
    assert bfloat[0] == np.float32(128).view(np.uint32) >> 16


def test_a_loop_of_compare_and_swap_and_a_lock_between_blocks(atomics, rng):
    x = rng.standard_normal(1024).astype(np.float32) ** 2
    greatest, count = np.zeros(1, np.float32), np.zeros(1, np.int64)
    atomics.ok("run_locked", x, greatest, count)
    assert greatest[0] == x.max()
    assert count[0] == 1024


def test_the_last_block_sees_what_the_others_wrote(atomics, rng):
    x = rng.random(64 * 100, np.float32)
    out = np.zeros(1, np.float32)
    for _ in range(3):  # the counter wraps around to zero by itself
        atomics.ok("run_last_block", x, out, 100, None)
        np.testing.assert_allclose(out[0], x.sum(), rtol=1e-5)


def test_a_thread_that_spins_lets_the_one_it_waits_for_run(atomics):
    flag = np.zeros(1, np.int32)
    atomics.ok("run_spin", flag)
    assert flag[0] == 2


def test_a_block_may_wait_for_the_one_before_it(atomics):
    sums = np.zeros(500, np.int32)
    atomics.ok("run_chained", sums, 500)
    np.testing.assert_array_equal(sums, np.arange(1, 501))


def test_constant_memory_is_copied_to_by_symbol(atomics, rng):
    x = rng.random(1000, np.float32)
    y, coefficients = np.zeros_like(x), np.array([1, -2, 3, 0.5], np.float32)
    atomics.ok("run_polynomial", x, y, coefficients, x.size)
    expected = np.polyval(coefficients[::-1].astype(np.float64), x) + np.tile([10, 20], 500)
    np.testing.assert_allclose(y, expected, rtol=1e-6)


def test_copies_keep_their_order(atomics, rng):
    x = rng.random(100, np.float32)
    out = np.zeros(101, np.float32)
    atomics.ok("run_memory", x, out, 100)
    np.testing.assert_array_equal(out[1:100], x[1:])
    assert out[0] == 0


@pytest.mark.parametrize("atomics", ["cpu"], indirect=True)
def test_fresh_memory_is_nan(atomics):
    out = np.zeros(2, np.float32)
    atomics.ok("run_memory", np.zeros(1, np.float32), out, 1)
    assert np.isnan(out[1])
