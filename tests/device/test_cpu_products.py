"""cuBLAS and cuBLASLt over the host's BLAS, and over our own loop where there is none."""

import ctypes
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import erf

F32, F16, BF16 = 0, 2, 14
COMPUTE_32F, COMPUTE_TF32 = 68, 77
RELU, BIAS, GELU = 2, 4, 32


def stored(matrix, leading):
    """`matrix` by columns, each `leading` long, the rest NaN."""
    rows, columns = matrix.shape
    buffer = np.full((columns, leading), np.nan, np.float32)
    buffer[:, :rows] = matrix.T
    return buffer


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (0.5, 2.0)])
def test_sgemm_by_columns_with_transposes_and_gaps(products, rng, trans_a, trans_b, alpha, beta):
    m, n, k = 37, 29, 53
    a, b, c = rng.random((m, k)), rng.random((k, n)), rng.random((m, n))
    a_stored = stored(a.T if trans_a else a, 60)
    b_stored = stored(b.T if trans_b else b, 61)
    c_stored = stored(c if beta else np.full((m, n), np.nan), 40)
    products.ok(
        "run_sgemm", a_stored, b_stored, c_stored, m, n, k, trans_a, trans_b, 60, 61, 40, alpha, beta, None
    )
    expected = alpha * a @ b + (beta * c if beta else 0)
    np.testing.assert_allclose(c_stored[:, :m].T, expected, rtol=1e-5)
    assert np.isnan(c_stored[:, m:]).all()


def test_a_leading_dimension_that_is_too_small_is_refused(products):
    x = np.zeros(100, np.float32)
    assert products("run_sgemm", x, x, x, 10, 10, 10, 0, 0, 9, 10, 10, 1.0, 0.0, None) == 7


def test_row_major_linear_and_what_tf32_costs(products, rng):
    m, n, k = 64, 48, 512
    a, w = rng.standard_normal((m, k), np.float32), rng.standard_normal((n, k), np.float32)
    exact = a.astype(np.float64) @ w.T.astype(np.float64)
    scale = np.sqrt((exact**2).mean())
    errors = []
    for is_tf32 in (0, 1):
        out = np.zeros((m, n), np.float32)
        products.ok("run_linear", a, w, out, m, n, k, is_tf32)
        errors.append(np.abs(out - exact).max() / scale)
    assert errors[0] < 1e-5
    assert 2e-4 < errors[1] < 5e-3  # ten bits of mantissa


def test_tf32_rounds_to_the_nearest_and_ties_away_from_zero(products):
    ulp = 2.0**-10
    x = np.float32([1 + ulp / 2, 1 + ulp * 0.49, -(1 + ulp / 2), 1 + ulp * 1.5, 3e38, 1e-42])
    one, out = np.float32([1]), np.zeros_like(x)
    products.ok("run_gemm_ex", x, one, out, x.size, 1, 1, F32, F32, COMPUTE_TF32)
    expected = np.float32([1 + ulp, 1, -(1 + ulp), 1 + 2 * ulp, 0, 0])
    np.testing.assert_array_equal(out[:4], expected[:4])
    assert out[4] == pytest.approx(3e38, rel=1e-3)
    out[:] = 0
    products.ok("run_gemm_ex", x, one, out, x.size, 1, 1, F32, F32, COMPUTE_32F)
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize(("type_", "c_type"), [(F16, F32), (BF16, F32), (F16, F16), (BF16, BF16)])
def test_products_of_sixteen_bit_matrices_accumulate_in_float(products, rng, type_, c_type):
    m, n, k = 33, 17, 300
    a, b = narrowed(rng.standard_normal((m, k)), type_), narrowed(rng.standard_normal((k, n)), type_)
    a_bits, b_bits = bits_of(np.ascontiguousarray(a.T), type_), bits_of(np.ascontiguousarray(b.T), type_)
    out = np.zeros((n, m), np.float32 if c_type == F32 else np.uint16)
    products.ok("run_gemm_ex", a_bits, b_bits, out, m, n, k, type_, c_type, COMPUTE_32F)
    values = out if c_type == F32 else values_of(out, c_type)
    tolerance = {F32: 1e-5, F16: 1e-3, BF16: 8e-3}[c_type]
    np.testing.assert_allclose(values.T, a @ b, rtol=tolerance, atol=tolerance)


def test_batched_products(products, rng):
    a, b = rng.random((5, 7, 6), np.float32), rng.random((5, 8, 7), np.float32)
    out = np.zeros((5, 8, 6), np.float32)
    products.ok("run_batched", a, b, out, 6, 8, 7, 5)
    np.testing.assert_allclose(out, b @ a, rtol=1e-5)


@pytest.mark.parametrize("trans", [0, 1])
def test_a_matrix_times_a_vector(products, rng, trans):
    a = rng.random((9, 14), np.float32)  # by columns: 14 rows, 9 columns
    x, y = rng.random(14 if trans else 9, np.float32), rng.random(9 if trans else 14, np.float32)
    expected = 2 * (a if trans else a.T) @ x + y
    products.ok("run_sgemv", a, x, y, 14, 9, trans)
    np.testing.assert_allclose(y, expected, rtol=1e-5)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


EPILOGUES = {
    1: lambda x, bias: x,
    RELU: lambda x, bias: np.maximum(x, 0),
    BIAS: lambda x, bias: x + bias,
    RELU | BIAS: lambda x, bias: np.maximum(x + bias, 0),
    GELU: lambda x, bias: gelu_tanh(x),
    GELU | BIAS: lambda x, bias: gelu_tanh(x + bias),
}


@pytest.mark.parametrize("by_rows", [0, 1])
@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("type_", [F32, BF16])
def test_a_matmul_with_an_epilogue(products, rng, epilogue, by_rows, type_):
    m, n, k = 12, 20, 40
    x, w = (narrowed(rng.standard_normal(shape) / 4, type_) for shape in ((m, k), (n, k)))
    bias = narrowed(
        rng.standard_normal(m if by_rows else n), type_
    )  # one for each row of the result as cuBLASLt sees it
    out = np.zeros((m, n), np.float32 if type_ == F32 else np.uint16)
    x_bits, w_bits, bias_bits = bits_of(x, type_), bits_of(w, type_), bits_of(bias, type_)
    products.ok(
        "run_lt",
        x_bits,
        w_bits,
        bias_bits if epilogue & BIAS else None,
        out,
        m,
        n,
        k,
        type_,
        epilogue,
        by_rows,
    )
    expected = EPILOGUES[epilogue](x.astype(np.float64) @ w.T, bias[:, None] if by_rows else bias)
    tolerance = 1e-5 if type_ == F32 else 5e-3
    np.testing.assert_allclose(
        out if type_ == F32 else values_of(out, type_), expected, rtol=tolerance, atol=tolerance
    )
    assert (
        np.abs(gelu_tanh(1.0) - 0.5 * (1 + erf(1 / np.sqrt(2)))) > 1e-5
    )  # the two forms of GELU can be told apart


def test_an_epilogue_that_is_not_there_is_refused(products):
    x = np.zeros((4, 4), np.float32)
    assert products("run_lt", x, x, None, x, 4, 4, 4, F32, 128 | RELU, 0) == 15


@pytest.mark.parametrize("products", ["cpu"], indirect=True)
def test_library_calls_are_counted(products):
    x = np.zeros(64, np.float32)
    products.library.warpsmith_counters_reset()
    products.ok("run_batched", x, x, x.copy(), 2, 3, 4, 2)
    products.ok("run_linear", x, x, x.copy(), 2, 3, 4, 0)
    assert products.counters() == (0, 0, 2 * 2 * 3 * 4 * 3, 2)


@pytest.mark.parametrize("products", ["cpu"], indirect=True)
def test_the_blas_of_libtorch_is_used_where_it_is_handed_over(products):
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        pytest.skip("torch is not installed")
    library = Path(torch.origin).parent / "lib" / "libtorch_cpu.so"
    script = (
        "import ctypes, sys, time, numpy as np\n"
        "blas = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)\n"
        "gemms = [ctypes.cast(gemm, ctypes.c_void_p) for gemm in (blas.sgemm_, blas.dgemm_)]\n"
        "ctypes.CDLL(sys.argv[2]).warpsmith_use_products(*gemms)\n"
        "n = 768; a = np.random.default_rng(0).random((n, n), np.float32); out = np.zeros_like(a)\n"
        "run = ctypes.CDLL(sys.argv[2]).run_linear\n"
        "pointer = lambda array: ctypes.c_void_p(array.ctypes.data)\n"
        "assert run(pointer(a), pointer(a), pointer(out), n, n, n, 0) == 0\n"
        "assert np.allclose(out, a @ a.T, rtol=1e-5)\n"
        "start = time.process_time(); run(pointer(a), pointer(a), pointer(out), n, n, n, 0)\n"
        "print(time.process_time() - start)\n"
    )
    subprocess.run([sys.executable, "-c", script, library, products.path], check=True, capture_output=True)


def narrowed(x, type_):
    """`x` rounded to the format, as floats."""
    return values_of(bits_of(x.astype(np.float32), type_), type_)


def bits_of(x, type_):
    if type_ == F32:
        return np.ascontiguousarray(x, np.float32)
    if type_ == F16:
        return x.astype(np.float16).view(np.uint16)
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def values_of(bits, type_):
    if type_ == F32:
        return bits
    if type_ == F16:
        return bits.view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << 16).view(np.float32)


def test_the_helpers_of_this_file_round_trip():
    assert ctypes.sizeof(ctypes.c_float) == 4
    x = np.float32([1, -2.5, 0])
    assert all((narrowed(x, type_) == x).all() for type_ in (F32, F16, BF16))
