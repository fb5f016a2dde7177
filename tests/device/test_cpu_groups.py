"""Cooperative groups of a block, and copies in the background."""

import numpy as np


def test_tiles_reduce_among_themselves(groups, rng):
    x = rng.integers(-50, 50, 64).astype(np.float32)
    out = np.zeros((64, 4), np.float32)
    groups.ok("run_tiles", x, out)
    tiles = np.repeat(x.reshape(8, 8), 8, axis=0)
    np.testing.assert_array_equal(out[:, 0], tiles.sum(1))
    np.testing.assert_array_equal(out[:, 1], tiles.sum(1))
    np.testing.assert_array_equal(out[:, 2], tiles.max(1))
    np.testing.assert_array_equal(out[:, 3], np.arange(64) // 8 * 100 + np.arange(64) % 8)


def test_lanes_that_come_together_know_each_other(groups):
    out = np.zeros(32, np.int32)
    groups.ok("run_together", out)
    expected = [lane // 3 * 1000 + 11 * 100 + 30 if lane % 3 == 0 else -1 for lane in range(32)]
    assert out.tolist() == expected


def test_a_background_copy_is_there_when_waited_for(groups, rng):
    x = rng.random((32, 4), np.float32)
    out = np.zeros_like(x)
    groups.ok("run_staged", x, out)
    expected = x[::-1].copy()
    expected[0, 3] = 0  # the copy of the last element was told to clear four bytes
    np.testing.assert_array_equal(out, expected)
