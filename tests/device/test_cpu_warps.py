"""Shuffles, votes and reductions."""

import numpy as np
import pytest

LANES = np.arange(64)


def expected_sources(delta, width):
    """For each lane where it reads from in the index, up, down and xor shuffles, by CUDA's definition."""
    lane = LANES % 32
    start = lane // width * width
    index = start + delta % width
    up = np.where(lane - delta < start, lane, lane - delta)
    down = np.where(lane + delta >= start + width, lane, lane + delta)
    crossed = lane ^ delta
    xor = np.where(crossed >= start + width, lane, crossed)
    return [LANES // 32 * 32 + source for source in (index, up, down, xor)]


@pytest.mark.parametrize(("delta", "width"), [(1, 32), (3, 32), (16, 32), (5, 8), (2, 4), (7, 16), (1, 2)])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [("int", np.int32), ("float", np.float32), ("double", np.float64), ("half", np.float16)],
)
def test_shuffles_read_from_the_lane_they_name(warps, name, dtype, delta, width):
    x = (LANES * 3 - 50).astype(dtype)
    out = np.zeros((4, 64), dtype)
    warps.ok(f"run_shuffles_{name}", x, out, delta, width)
    for row, source in zip(out, expected_sources(delta, width), strict=True):
        np.testing.assert_array_equal(row, x[source])


def test_lanes_in_different_branches_shuffle_apart(warps):
    out = np.zeros(32, np.int32)
    warps.ok("run_diverged", out)
    assert out.tolist() == [sum(range(16))] * 16 + [31] * 16


def test_votes(warps):
    out = np.zeros((32, 10), np.uint32)
    warps.ok("run_votes", out)
    for lane, row in enumerate(out.tolist()):
        same = sum(1 << other for other in range(32) if other // 5 == lane // 5)
        active = 0x11111111 if lane % 4 == 0 else 0
        assert row == [0xAAAAAAAA, 1, 0, 1, 0, same, 0xFFFFFFFF, 0, active, 2], lane


def test_reductions_of_integers(warps, rng):
    x = rng.integers(-(2**20), 2**20, 32, np.int32)
    out = np.zeros((32, 7), np.int32)
    warps.ok("run_reductions", x, out)
    bits = x.view(np.uint32)
    operations = (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    expected = [x.sum(), x.min(), x.max(), bits.max().view(np.int32)]
    expected += [operation.reduce(bits).view(np.int32) for operation in operations]
    np.testing.assert_array_equal(out, np.tile(expected, (32, 1)))


@pytest.mark.parametrize("cols", [1, 31, 256, 1000])
def test_a_block_wide_reduction_by_shuffles(warps, rng, cols):
    x = rng.standard_normal((300, cols), np.float32)
    out = np.zeros(300, np.float32)
    warps.ok("run_row_sums", x, out, 300, cols)
    np.testing.assert_allclose(out, x.astype(np.float64).sum(1), rtol=1e-5, atol=1e-4)


def test_lanes_that_left_or_never_were_are_not_waited_for(warps):
    out = np.zeros(1, np.int32)
    warps.ok("run_partial_warp", out)
    assert out[0] == sum(range(1, 20))
