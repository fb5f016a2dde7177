"""Every page's example: its form, the judge's rules, both compilers, and its numbers on the cpu device."""

import ctypes
import re
import subprocess

import numpy as np
import pytest

from warpsmith.agent.retrieval import page_names, page_text
from warpsmith.agent.retrieval.chunks import chunks
from warpsmith.agent.retrieval.readers.markdown import read_markdown
from warpsmith.core import Candidate
from warpsmith.device import cpu
from warpsmith.device.cpu.unsupported import unsupported
from warpsmith.judge.gates.rules import breach
from warpsmith.toolchain import find_nvcc
from warpsmith.toolchain.nvcc import COMPILE_FLAGS, gencode
from warpsmith.toolchain.signatures import find_launchers

SECTIONS = ["Symptom", "Why", "What to do", "When not", "Example"]
FENCE = re.compile(r"```cuda\n(.*?)```", re.DOTALL)
COMPILED_ONLY = re.compile(r"Compiled in the tests for (sm_90a?), not run there: ")
RUN = re.compile(r"Tested: runs on the cpu device( \([\w ]+\))?, and its numbers are right")
MODULE = "import torch\n\n\nclass ModelNew(torch.nn.Module): ...\n"
PAGES = page_names()

rng = np.random.default_rng(7)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def zeros(*shape, dtype=np.float32):
    return np.full(shape, 77, dtype)  # what is not written shows


def example(page):
    return FENCE.search(page_text(page))[1]


class Program:
    """An example that was built. Arrays pass as pointers, floats as float, Longs as long long."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))

    def __call__(self, name, *arguments):
        code = getattr(self.library, name)(*(as_c(argument) for argument in arguments), ctypes.c_void_p(0))
        assert code == 0


class Long(int):
    """A number that C takes as long long."""


def as_c(argument):
    match argument:
        case np.ndarray():
            assert argument.flags.c_contiguous
            return ctypes.c_void_p(argument.ctypes.data)
        case float():
            return ctypes.c_float(argument)
        case Long():
            return ctypes.c_longlong(argument)
        case _:
            return ctypes.c_int(argument)


CHECKS = {}


def check(page):
    def note(function):
        CHECKS[page] = function
        return function

    return note


def close(found, expected, tolerance=2e-6):
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def bfloat16(x):
    """Rounded to the nearest, ties to even."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


@check("uncoalesced-access")
def column_sums(program):
    x, y = normal(37, 131), zeros(131)
    program("column_sums", x, y, 37, 131)
    close(y, x.sum(0, dtype=np.float64))


@check("bank-conflicts")
def turned_tiles(program):
    x, y = normal(3, 32, 32), zeros(3, 32, 32)
    program("turned_tiles", x, y, 3)
    np.testing.assert_array_equal(y, x[:, ::-1].transpose(0, 2, 1))


@check("low-occupancy")
def silu(program):
    x, y = normal(1001), zeros(1001)
    program("silu", x, y, Long(1001), 96)
    close(y, x / (1 + np.exp(-x.astype(np.float64))))


@check("register-spills")
def sort_rows(program):
    x, y = normal(131, 8), zeros(131, 8)
    program("sort_rows_of_8", x, y, 131)
    np.testing.assert_array_equal(y, np.sort(x, 1))


@check("launch-bound")
def bias_gelu_add(program):
    x, bias, residual, y = normal(7, 33), normal(33), normal(7, 33), zeros(7, 33)
    program("bias_gelu_add", x, bias, residual, y, Long(x.size), 33)
    v = (x + bias).astype(np.float64)
    close(y, 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3))) + residual)


@check("unfused-epilogue")
def linear_relu(program):
    x, w, bias, y = normal(5, 67), normal(131, 67), normal(131), zeros(5, 131)
    program("linear_relu", x, w, bias, y, 5, 131, 67)
    close(y, np.maximum(x.astype(np.float64) @ w.T + bias, 0))


@check("fp32-products-from-parts")
def split_parts(program):
    a, b = normal(9, 200), normal(11, 200)
    left, right = zeros(9, 600, dtype=np.uint16), zeros(11, 600, dtype=np.uint16)
    program("split_parts", a, left, 9, 200, 1)
    program("split_parts", b, right, 11, 200, 0)
    left, right = (
        (part.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for part in (left, right)
    )
    exact = a.astype(np.float64) @ b.T.astype(np.float64)
    close(left @ right.T, exact, 3e-5)
    rounded = bfloat16(a).astype(np.float64) @ bfloat16(b).T
    assert np.abs(left @ right.T - exact).max() < np.abs(rounded - exact).max() / 50


@check("vector-access")
def axpy_one(program):
    x, y = normal(1027), zeros(1027)
    program("axpy_one", x, y, 1.5, Long(1027))
    close(y, 1.5 * x + 1)
    out = zeros(1027)  # from an address that is no multiple of 16
    program("axpy_one", x[1:], out[1:], 1.5, Long(1026))
    close(out[1:], 1.5 * x[1:] + 1)
    assert out[0] == 77


@check("loads-in-flight")
def row_sums(program):
    for width in (1, 128, 515):
        x, y = normal(3, width), zeros(3)
        program("row_sums", x, y, 3, width)
        close(y, x.sum(1, dtype=np.float64))


@check("warp-reduction")
def row_argmax(program):
    x, where = rng.integers(0, 9, (6, 77)).astype(np.float32), zeros(6, dtype=np.int32)
    x[2] = -np.inf
    program("row_argmax", x, where, 6, 77)
    np.testing.assert_array_equal(where, x.argmax(1))


@check("block-reduction")
def rms_norm(program):
    x, y = normal(3, 1000), zeros(3, 1000)
    program("rms_norm", x, y, 3, 1000, 1e-5)
    truth = x.astype(np.float64)
    close(y, truth / np.sqrt((truth**2).mean(1, keepdims=True) + 1e-5))


@check("last-block-finishes")
def total(program):
    x, partial, counter, y = normal(100_003), zeros(7), np.zeros(1, np.int32), zeros(1)
    for _ in range(2):  # the counter is zero again after a call
        y[:] = 77
        program("total", x, partial, counter, y, Long(x.size), 7)
        np.testing.assert_allclose(y[0], x.sum(dtype=np.float64), atol=1e-3)


@check("online-softmax")
def log_sum_exp(program):
    x, y = normal(6, 77) * 50, zeros(6)
    x[1, 3] = -np.inf
    x[4] = -np.inf
    program("log_sum_exp", x, y, 6, 77)
    with np.errstate(invalid="ignore"):
        top = x.max(1, keepdims=True).astype(np.float64)
        expected = np.log(np.exp(x - top).sum(1)) + top[:, 0]
    assert y[4] == -np.inf
    close(np.delete(y, 4), np.delete(expected, 4))


@check("welford")
def row_variance(program):
    x, mean, variance = normal(6, 1000) + 1000, zeros(6), zeros(6)
    program("row_variance", x, mean, variance, 6, 1000)
    close(mean, x.mean(1, dtype=np.float64))
    close(variance, x.var(1, dtype=np.float64), 1e-4)


@check("split-k")
def split_k(program):
    x, w, part, y = normal(5, 1000), normal(70, 1000), zeros(7, 5, 70), zeros(5, 70)
    program("split_k", x, w, part, y, 5, 70, 1000, 7)
    close(y, x.astype(np.float64) @ w.T)


def is_product(name, *, is_b_transposed=False):
    def run(program):
        for m, n, depth in ((1, 1, 1), (50, 70, 33), (150, 65, 64)):
            a, b, c = normal(m, depth), normal(n, depth) if is_b_transposed else normal(depth, n), zeros(m, n)
            program(name, a, b, c, m, n, depth)
            close(c, a.astype(np.float64) @ (b.T if is_b_transposed else b))

    return run


check("shared-memory-tiling")(is_product("tiled_product"))
check("register-tiles")(is_product("register_tiles"))
check("l2-reuse")(is_product("grouped_product", is_b_transposed=True))
check("cublas-from-a-launcher")(is_product("linear", is_b_transposed=True))


@check("asynchronous-copies")
def over_mean(program):
    x = rng.uniform(1, 2, (3, 5, 256)).astype(np.float32)
    y = zeros(3, 5, 256)
    program("over_mean", x, y, 3, 5)
    close(y, x / x.mean(2, dtype=np.float64, keepdims=True))


@check("persistent-kernels")
def look_up(program):
    codes, table, y = rng.integers(0, 256, 5000).astype(np.uint8), normal(256), zeros(5000)
    program("look_up", codes, table, y, Long(5000))
    np.testing.assert_array_equal(y, table[codes])


@check("pinned-memory-and-copies")
def add_table(program):
    x, table, y = normal(1001), zeros(1001), zeros(1001)
    program("add_table", x, table, y, 1001)
    close(y, x + np.arange(1001) % 100 * 0.01)


@check("grid-stride-loops")
def dequantize(program):
    q, y = rng.integers(-128, 128, 700_001).astype(np.int8), zeros(700_001)
    program("dequantize", q, np.array([40], np.float32), y, Long(q.size))
    close(y, q / 40)


@check("tail-handling")
def row_minima(program):
    for width in (1, 64, 67):
        x, y = normal(5, width), zeros(5)
        program("row_minima", x, y, 5, width)
        np.testing.assert_array_equal(y, x.min(1))


@check("divergent-branches")
def softplus(program):
    x, y = normal(1001) * 30, zeros(1001)
    program("softplus", x, y, Long(1001))
    close(y, np.logaddexp(0, x.astype(np.float64)))


@check("fp64-by-accident")
def gelu(program):
    x, y = normal(1001), zeros(1001)
    program("gelu", x, y, Long(1001))
    erf = np.vectorize(__import__("math").erf)
    close(y, 0.5 * x * (1 + erf(x / np.sqrt(2.0))))


@check("atomics-and-histogram")
def count_bytes(program):
    x, counts = rng.integers(0, 200, 10_001).astype(np.uint8), zeros(256, dtype=np.int32)
    program("count_bytes", x, counts, Long(x.size))
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=256))


@check("scan-by-look-back")
def prefix_sum(program):
    x, y = normal(20_001), zeros(20_001)
    program("prefix_sum", x, y, zeros((x.size + 255) // 256 + 1, dtype=np.uint64), Long(x.size))
    close(y, x.cumsum(dtype=np.float64))


@check("transposes-through-shared-memory")
def transpose(program):
    x, y = normal(67, 45), zeros(45, 67)
    program("transpose", x, y, 67, 45)
    np.testing.assert_array_equal(y, x.T)


@check("precision-of-sums")
def careful_sums(program):
    x = (rng.uniform(0, 1, (2, 1_000_000)) * 10.0 ** rng.integers(-3, 4, (2, 1_000_000))).astype(np.float32)
    y = zeros(2)
    program("careful_sums", x, y, 2, 1_000_000)
    truth = x.sum(1, dtype=np.float64)
    assert np.abs(y / truth - 1).max() < 1.2e-7  # a plain chain of a lane is off by more
    chain = x.reshape(2, -1, 32).cumsum(1, dtype=np.float32)[:, -1].sum(1)
    assert np.abs(chain / truth - 1).max() > 2e-7


@check("folding-and-packing-weights")
def fold_batch_norm(program):
    w, (b, gamma, beta, mean), var = normal(5, 140), normal(4, 5), rng.uniform(0.5, 2, 5).astype(np.float32)
    w_out, b_out, x = zeros(5, 140), zeros(5), normal(140)
    program(
        "fold_batch_norm",
        w,
        *map(np.ascontiguousarray, (b, gamma, beta, mean)),
        var,
        w_out,
        b_out,
        5,
        140,
        1e-5,
    )
    plain = (w.astype(np.float64) @ x + b - mean) / np.sqrt(var + 1e-5) * gamma + beta
    close(w_out.astype(np.float64) @ x + b_out, plain)


@check("streams-joined-properly")
def sine_and_cosine(program):
    x, sine, cosine = normal(1001), zeros(1001), zeros(1001)
    program("sine_and_cosine", x, sine, cosine, 1001)
    close(sine, np.sin(x))
    close(cosine, np.cos(x))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_one_form_and_is_found_whole(page):
    text = page_text(page)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    assert len(chunks(read_markdown(text.encode()))) == 1
    assert max(map(len, text.splitlines())) <= 120
    assert len(FENCE.findall(text)) == 1


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_whether_its_example_is_run(page):
    is_run, is_compiled = RUN.search(page_text(page)), COMPILED_ONLY.search(page_text(page))
    assert bool(is_run) == (page in CHECKS)
    assert bool(is_compiled) == bool(unsupported(example(page))) == (page not in CHECKS)


@pytest.mark.parametrize("page", PAGES)
def test_an_example_breaks_no_rule_and_has_one_launcher(page):
    sources = {"model_new.py": MODULE, "kernels/example.cu": example(page)}
    assert breach(Candidate.of(sources)) is None
    (launcher,) = find_launchers({"kernels/example.cu": example(page)})
    assert launcher.has_stream
    assert launcher.returns_status


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_an_example_compiles_for_the_gpu(page, tmp_path):
    nvcc = find_nvcc()
    if nvcc is None or ("cublas" in page and nvcc.header("cublas_v2.h") is None):
        pytest.skip("no nvcc, or none with this header")
    said = COMPILED_ONLY.search(page_text(page))
    source = tmp_path / "example.cu"
    source.write_text(example(page))
    arch = said[1] if said else "sm_90"
    command = [nvcc.path, gencode(arch), *COMPILE_FLAGS, "-Werror=all-warnings", "-c", source]
    done = subprocess.run(
        [*map(str, command), "-o", tmp_path / "example.o"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(CHECKS))
def test_an_example_computes_what_its_page_says(page, tmp_path):
    (tmp_path / "example.cpp").write_text(cpu.translate(example(page)))
    target = tmp_path / "example.so"
    command = ["g++", *cpu.compile_flags(), "-shared", "-o", target, tmp_path / "example.cpp", "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    CHECKS[page](Program(target))
