"""Grids, blocks, shared memory and barriers."""

import os
import subprocess
import sys

import numpy as np
import pytest


@pytest.mark.parametrize("with_barrier", [0, 1])
def test_every_thread_of_a_grid_of_three_dimensions_knows_its_place(blocks, with_barrier):
    out = np.zeros((2, 3, 2, 3, 4, 5), np.int32)
    blocks.ok("run_indices", out, with_barrier, None)
    block = np.arange(12).reshape(2, 3, 2)[..., None, None, None]
    z, y, x = np.meshgrid(np.arange(3), np.arange(4), np.arange(5), indexing="ij")
    np.testing.assert_array_equal(out, block * 10000 + z * 900 + y * 30 + x)


@pytest.mark.parametrize(("name", "threads"), [("run_reverse_static", 256), ("run_reverse_dynamic", 128)])
def test_shared_memory_carries_values_across_a_barrier(blocks, rng, name, threads):
    x = rng.random(64 * threads, np.float32)
    out = np.zeros_like(x)
    blocks.ok(name, x, out, x.size)
    np.testing.assert_array_equal(out, x.reshape(-1, threads)[:, ::-1].ravel())


def test_dynamic_shared_memory_may_be_declared_at_file_scope(blocks, rng):
    x = rng.random((50, 64), np.float32)
    out = np.zeros_like(x)
    blocks.ok("run_rotate", x, out, 50)
    np.testing.assert_array_equal(out, np.roll(x, -1, axis=1))


def test_a_tiled_transpose_with_ragged_edges(blocks, rng):
    x = rng.random((131, 77), np.float32)
    out = np.zeros((77, 131), np.float32)
    blocks.ok("run_transpose", x, out, 131, 77)
    np.testing.assert_array_equal(out, x.T)


def test_a_tree_with_a_barrier_in_every_step(blocks, rng):
    x = rng.random(100_003, np.float32)
    out = np.zeros(17, np.float32)
    blocks.ok("run_tree_sum", x, out, x.size, 17, 512)
    assert out.sum() == pytest.approx(x.astype(np.float64).sum(), rel=1e-6)


def test_threads_that_have_returned_are_not_waited_for(blocks):
    out = np.zeros(64, np.int32)
    blocks.ok("run_early_exit", out)
    np.testing.assert_array_equal(out, 64)


def test_barriers_with_a_predicate(blocks):
    out = np.full(5, -1, np.int32)
    blocks.ok("run_predicates", out)
    assert out.tolist() == [22, 1, 0, 1, 0]


@pytest.mark.parametrize("blocks", ["cpu"], indirect=True)
def test_dynamic_shared_memory_is_nan_when_a_block_starts(blocks):
    out = np.zeros(256, np.float32)
    blocks.ok("run_poisoned", out)
    assert np.isnan(out).all()


@pytest.mark.parametrize("blocks", ["cpu"], indirect=True)
def test_a_missing_barrier_shows_in_one_order_of_the_threads(blocks):
    x = np.arange(1, 65, dtype=np.int32)
    out = np.zeros((4, 64), np.int32)
    blocks.ok("run_without_barrier", x, out, 4)
    expected = np.maximum(x - 1, 1) * np.arange(1, 5)[:, None]
    assert (out == expected).all(axis=1).sum() == 2


@pytest.mark.parametrize("blocks", ["cpu"], indirect=True)
def test_all_cores_and_one_give_the_same_bits(blocks, rng, tmp_path):
    x = rng.random(1 << 20, np.float32)
    out = np.zeros(257, np.float32)
    blocks.ok("run_tree_sum", x, out, x.size, 257, 128)
    np.save(tmp_path / "x.npy", x)
    script = (
        "import ctypes, sys, numpy as np\n"
        "x = np.load(sys.argv[1]); out = np.zeros(257, np.float32)\n"
        "pointer = lambda array: ctypes.c_void_p(array.ctypes.data)\n"
        "code = ctypes.CDLL(sys.argv[2]).run_tree_sum(pointer(x), pointer(out), x.size, 257, 128)\n"
        "sys.stdout.buffer.write(out.tobytes()); sys.exit(code)\n"
    )
    for cores in ("1", "5"):
        done = subprocess.run(
            [sys.executable, "-c", script, tmp_path / "x.npy", blocks.path],
            capture_output=True,
            check=True,
            env=os.environ | {"WARPSMITH_CPU_THREADS": cores},
        )
        np.testing.assert_array_equal(np.frombuffer(done.stdout, np.float32), out)


@pytest.mark.parametrize("blocks", ["cpu"], indirect=True)
def test_a_forked_process_can_launch(blocks, rng):
    x = rng.random(4096, np.float32)
    out = np.zeros(16, np.float32)
    blocks.ok("run_tree_sum", x, out, x.size, 16, 128)
    child = os.fork()
    if child == 0:
        os._exit(blocks("run_tree_sum", x, out, x.size, 16, 128))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
