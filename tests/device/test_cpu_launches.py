"""Launches in every form that people write, what is refused, and deadlocks that end."""

import ctypes
import os
import subprocess
import sys
import time

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("name", "extra", "expected"),
    [
        ("run_template", (None,), lambda x: 2 * x + 1),
        ("run_macro", (2, None), lambda x: 2 * x),
        ("run_macro", (3, None), lambda x: 3 * x),
        ("run_null", (), lambda x: x),
        ("run_braces", (), lambda x: 2 * x + 7),
        ("run_pointer", (), lambda x: x + x),
        ("run_pack", (), lambda x: 3 * x + 1),
    ],
)
def test_a_kernel_is_launched_however_it_is_written(launches, rng, name, extra, expected):
    x = rng.integers(-100, 100, 1000).astype(np.float32)
    out = np.zeros_like(x)
    launches.ok(name, x, out, x.size, *extra)
    np.testing.assert_array_equal(out, expected(x))


def test_arguments_are_evaluated_once_a_launch(launches):
    x, out = np.zeros(1000, np.float32), np.zeros(1000, np.float32)
    assert launches("run_side_effect", x, out, 1000) == 1
    np.testing.assert_array_equal(out, 1)


INVALID_CONFIGURATION, INVALID_VALUE, TOO_MANY_RESOURCES, LAUNCH_FAILURE, ILLEGAL = 9, 1, 701, 719, 715


@pytest.mark.parametrize(
    ("configuration", "code"),
    [
        ((1, 1, 1, 1024, 1, 1), 0),
        ((70000, 1, 1, 1, 1, 1), 0),
        ((1, 1, 1, 1025, 1, 1), INVALID_CONFIGURATION),
        ((1, 1, 1, 64, 32, 1), INVALID_CONFIGURATION),
        ((1, 1, 1, 1, 1, 65), INVALID_CONFIGURATION),
        ((0, 1, 1, 32, 1, 1), INVALID_CONFIGURATION),
        ((1, 1, 1, 0, 1, 1), INVALID_CONFIGURATION),
        ((-1, 1, 1, 32, 1, 1), INVALID_CONFIGURATION),
        ((1, 70000, 1, 1, 1, 1), INVALID_CONFIGURATION),
        ((1, 1, 70000, 1, 1, 1), INVALID_CONFIGURATION),
    ],
)
def test_a_configuration_no_gpu_takes_is_refused_and_the_error_is_then_gone(launches, configuration, code):
    assert launches("run_configuration", *configuration) == code


def test_launch_bounds_bind(launches):
    out = np.zeros(256, np.int32)
    assert launches("run_bounded", out, 128) == 0
    assert launches("run_bounded", out, 256) == TOO_MANY_RESOURCES
    assert launches("run_bounded", out, 64) == 0
    np.testing.assert_array_equal(out, [1] * 128 + [0] * 128)


@pytest.mark.parametrize("launches", ["cpu"], indirect=True)
def test_a_refused_launch_says_why(launches):
    launches("run_bounded", np.zeros(256, np.int32), 256)
    assert "kernel bounded" in launches.message()
    assert "256 threads a block, but __launch_bounds__(128)" in launches.message()


def test_more_than_48_kb_of_shared_memory_must_be_asked_for(launches):
    out = np.zeros(32, np.float32)
    assert launches("run_shared", out, 48 * 1024, 0) == 0
    assert launches("run_shared", out, 48 * 1024 + 1, 0) == INVALID_VALUE
    assert launches("run_shared", out, 228 * 1024, 1) == 1000 + INVALID_VALUE
    assert launches("run_shared", out, 227 * 1024, 1) == 0
    np.testing.assert_array_equal(out, np.arange(32)[::-1])


def test_the_device_answers_like_an_h200(launches):
    facts = np.zeros(6, np.int32)
    launches.ok("device_facts", facts)
    assert facts.tolist() == [32, 90, 132, 5, 227 * 1024, 1]


@pytest.mark.parametrize("launches", ["cpu"], indirect=True)
def test_counters_count_launches_and_threads(launches):
    launches.library.warpsmith_counters_reset()
    assert launches("run_configuration", 3, 2, 1, 8, 4, 1) == 0
    assert launches("run_configuration", 0, 2, 1, 8, 4, 1) == INVALID_CONFIGURATION
    assert launches.counters() == (1, 3 * 2 * 8 * 4, 0, 0)


FAIL = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
out = (ctypes.c_int * 64)()
first = library.run_failure(int(sys.argv[2]), out)
later = library.run_configuration(1, 1, 1, 1, 1, 1)
print(first, library.cudaDeviceSynchronize())
"""


@pytest.mark.parametrize(
    ("which", "code", "words"),
    [
        (0, LAUNCH_FAILURE, ("barrier_for_some", "deadlock", "__syncwarp", "waits for lanes")),
        (1, LAUNCH_FAILURE, ("shuffle_for_some", "deadlock", "__shfl_sync", "0xffffff00")),
        (2, ILLEGAL, ("not_in_mask", "leaves it out")),
        (3, LAUNCH_FAILURE, ("trap", "block (3, 0, 0)", "__trap()")),
    ],
)
@pytest.mark.parametrize("launches", ["cpu"], indirect=True)
def test_a_kernel_that_can_never_end_ends_in_an_error_that_stays(launches, which, code, words):
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", FAIL, launches.path, str(which)],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert done.stdout.split() == [str(code), str(code)]
    assert all(word in done.stderr for word in words), done.stderr
    assert time.monotonic() - start < 10


def test_two_files_of_a_program_may_use_the_same_names(twins, rng):
    x = rng.random(32, np.float32)
    out = np.zeros_like(x)
    twins.ok("run_sum", x, out, 32)
    np.testing.assert_array_equal(out, x + np.float32(3) + np.float32(10))
    twins.ok("run_product", x, out, 32)
    np.testing.assert_allclose(out, x * 3 + 20, rtol=1e-6)


@pytest.mark.parametrize("launches", ["cpu"], indirect=True)
def test_a_program_calls_its_own_runtime_though_another_is_loaded(twins, launches, tmp_path):
    source = tmp_path / "fake.c"
    source.write_text(
        "int cudaGetLastError(void) { return 77; }\nint cudaPeekAtLastError(void) { return 77; }\n"
    )
    fake = tmp_path / "fake.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", fake, source], check=True)
    script = (
        "import ctypes, sys\n"
        "ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)\n"
        "print(ctypes.CDLL(sys.argv[2]).run_configuration(1, 1, 1, 1, 1, 1))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, fake, launches.path],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    assert done.stdout.strip() == "0"


@pytest.mark.parametrize("launches", ["cpu"], indirect=True)
def test_only_what_others_call_is_exported(launches):
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", launches.path], capture_output=True, text=True, check=True
    )
    ours = {
        line.split()[-1]
        for line in symbols.stdout.splitlines()
        if not line.split()[-1].startswith(("run_", "_Z"))
    }
    assert ours == {
        "cudaGetLastError",
        "cudaPeekAtLastError",
        "cudaGetErrorString",
        "cudaDeviceSynchronize",
        "device_facts",
        "warpsmith_error_message",
        "warpsmith_counters_reset",
        "warpsmith_counters_read",
        "warpsmith_make_inert",
        "warpsmith_launched_kernel",
    }
    assert "warpsmith6Worker" not in symbols.stdout


@pytest.mark.parametrize("launches", ["cpu"], indirect=True)
def test_an_error_has_its_text(launches):
    text = launches.library.cudaGetErrorString
    text.restype = ctypes.c_char_p
    assert text(INVALID_CONFIGURATION) == b"invalid configuration argument"
