import contextlib
import time

import pytest

from warpsmith.toolchain.launchers import ParameterKind
from warpsmith.toolchain.signatures import SignatureError, find_launchers, find_named

POINTER, INTEGER, FLOATING = ParameterKind.POINTER, ParameterKind.INTEGER, ParameterKind.FLOATING


def launchers(source):
    return find_launchers({"kernels/k.cu": source})


def parameter(declaration):
    """How the one parameter is understood that `declaration` declares."""
    (launcher,) = launchers(f'extern "C" int f({declaration}, cudaStream_t stream) {{ return 0; }}')
    (only,) = launcher.parameters
    return only


@pytest.mark.parametrize(
    ("declaration", "name", "kind", "ctype", "dtype", "is_const"),
    [
        ("const float* x", "x", POINTER, "float", "float32", True),
        ("float const* x", "x", POINTER, "float", "float32", True),
        ("float* const x", "x", POINTER, "float", "float32", False),
        ("const float *const __restrict__ x", "x", POINTER, "float", "float32", True),
        ("float* __restrict x", "x", POINTER, "float", "float32", False),
        ("const float x[]", "x", POINTER, "float", "float32", True),
        ("float x[16]", "x", POINTER, "float", "float32", False),
        ("double* x", "x", POINTER, "double", "float64", False),
        ("const __half* x", "x", POINTER, "__half", "float16", True),
        ("half* x", "x", POINTER, "__half", "float16", False),
        ("__nv_bfloat16* x", "x", POINTER, "__nv_bfloat16", "bfloat16", False),
        ("const nv_bfloat16* x", "x", POINTER, "__nv_bfloat16", "bfloat16", True),
        ("__nv_fp8_e4m3* x", "x", POINTER, "__nv_fp8_e4m3", "float8_e4m3fn", False),
        ("const float4* __restrict__ x", "x", POINTER, "float4", "float32", True),
        ("__half2* x", "x", POINTER, "__half2", "float16", False),
        ("int64_t* x", "x", POINTER, "long long", "int64", False),
        ("const std::int64_t* x", "x", POINTER, "long long", "int64", True),
        ("unsigned char* x", "x", POINTER, "unsigned char", "uint8", False),
        ("const unsigned long int* x", "x", POINTER, "unsigned long long", "uint64", True),
        ("bool* x", "x", POINTER, "bool", "bool", False),
        ("const void* x", "x", POINTER, "void", None, True),
        ("int n", "n", INTEGER, "int", None, False),
        ("const int n", "n", INTEGER, "int", None, False),
        ("unsigned n", "n", INTEGER, "unsigned int", None, False),
        ("long n", "n", INTEGER, "long long", None, False),
        ("long long int n", "n", INTEGER, "long long", None, False),
        ("unsigned char n", "n", INTEGER, "unsigned char", None, False),
        ("size_t n", "n", INTEGER, "unsigned long long", None, False),
        ("std::size_t n", "n", INTEGER, "unsigned long long", None, False),
        ("uint8_t n", "n", INTEGER, "unsigned char", None, False),
        ("bool n", "n", INTEGER, "bool", None, False),
        ("short n", "n", INTEGER, "short", None, False),
        ("float eps", "eps", FLOATING, "float", None, False),
        ("const double eps", "eps", FLOATING, "double", None, False),
        ("int n = 4", "n", INTEGER, "int", None, False),
        ("float* /* the, input */ x", "x", POINTER, "float", "float32", False),
        ("float* x // the, input\n", "x", POINTER, "float", "float32", False),
        ("float* in", "in_", POINTER, "float", "float32", False),
        ("int type", "type_", INTEGER, "int", None, False),
        ("float*", "arg0", POINTER, "float", "float32", False),
        ("unsigned", "arg0", INTEGER, "unsigned int", None, False),
    ],
)
def test_a_parameter_is_read_as_c_means_it(declaration, name, kind, ctype, dtype, is_const):
    read = parameter(declaration)
    assert (read.name, read.kind, read.ctype, read.dtype, read.is_const) == (
        name,
        kind,
        ctype,
        dtype,
        is_const,
    )


@pytest.mark.parametrize(
    "declaration",
    [
        "dim3 grid",
        "const dim3 grid = dim3(1, 2, 3)",
        "at::Tensor x",
        "const at::Tensor& x",
        "float& x",
        "float&& x",
        "void (*callback)(int)",
        "int (&x)[3]",
        "std::vector<int> sizes",
        "float** x",
        "const float* const* x",
        "__half scale",
        "struct Shape shape",
        "cublasHandle_t handle",
        "void* stream",
        "...",
        "char* const* names",
        "cudaStream_t* streams",
    ],
)
def test_a_parameter_that_python_cannot_pass_is_refused_with_what_is_accepted(declaration):
    with pytest.raises(SignatureError, match=r"^kernels/k.cu:2: error: launcher f .*__nv_bfloat16"):
        launchers(f'\nextern "C" int f(int n, {declaration}, cudaStream_t stream) {{ return 0; }}')


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('extern "C" float f(int n) { return 0; }', "returns float"),
        ('extern "C" float* f(int n) { return 0; }', r"returns float\*"),
        ('extern "C" auto f(int n) -> int { return 0; }', "returns auto"),
        ('extern "C" int f(cudaStream_t s, int n) { return 0; }', "as its last parameter"),
        ('extern "C" int f(cudaStream_t s, cudaStream_t t) { return 0; }', "one cudaStream_t"),
        ('extern "C" int f(int n, int n) { return 0; }', "two parameters of one name"),
        ('extern "C" int lambda(int n) { return 0; }', "cannot be named 'lambda'"),
        ('extern "C" int counters(int n) { return 0; }', "cannot be named 'counters'"),
        (
            'extern "C" int f() { return 0; }\nextern "C" int f(int n) { return 0; }',
            "already defined at kernels/k.cu:1",
        ),
    ],
)
def test_a_launcher_that_cannot_be_bound_says_where_and_why(source, message):
    with pytest.raises(SignatureError, match=message):
        launchers(source)


def test_one_name_in_two_files_is_refused():
    text = 'extern "C" int f() { return 0; }'
    with pytest.raises(SignatureError, match=r"^kernels/b.cu:1: .* kernels/a.cu:1"):
        find_launchers({"kernels/a.cu": text, "kernels/b.cu": text})


@pytest.mark.parametrize(
    "source",
    [
        'extern "C" int f(int n);',
        'extern "C" static int f(int n) { return 0; }',
        'extern "C" inline int f(int n) { return 0; }',
        'extern "C" { static int f(int n) { return 0; } }',
        'extern "C" __global__ void f(float* x) {}',
        'extern "C" { __global__ void f(float* x) {} }',
        'extern "C" __device__ float f(float x) { return x; }',
        'extern "C++" int f(int n) { return 0; }',
        "int f(int n) { return 0; }",
        '// extern "C" int f(int n) { return 0; }',
        'const char* text = "extern \\"C\\" int f(int n) { return 0; }";',
    ],
)
def test_what_is_not_exported_to_python_is_no_launcher(source):
    assert launchers(source) == ()


def test_a_block_holds_many_launchers_and_their_order_is_by_name():
    found = launchers(
        """extern "C" {
        void scale(float* x, float by, cudaStream_t stream) {}
        cudaError_t add(const float* x, float* y, long n) { return cudaSuccess; }
        cublasStatus_t gemm(const float* a, float* c, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }
        int nothing(void) { return 0; }
        }"""
    )
    assert [(one.name, one.returns, one.has_stream, one.returns_status) for one in found] == [
        ("add", "cudaError_t", False, True),
        ("gemm", "cublasStatus_t", True, True),
        ("nothing", "int", False, True),
        ("scale", "void", True, False),
    ]
    assert [one.where for one in found] == [
        "kernels/k.cu:3",
        "kernels/k.cu:4",
        "kernels/k.cu:5",
        "kernels/k.cu:2",
    ]


def test_aliases_and_macros_for_types_are_followed_across_files():
    (found,) = find_launchers(
        {
            "kernels/common.cuh": "typedef __half element;\nusing Index = unsigned long;\n",
            "kernels/other.h": "  #  define SCALAR float",
            "kernels/k.cu": 'extern "C" int f(const element* x, SCALAR* y, Index n) { return 0; }',
        }
    )
    assert [one.ctype for one in found.parameters] == ["__half", "float", "unsigned long long"]


def test_an_alias_of_itself_ends():
    with pytest.raises(SignatureError):
        launchers('#define loop loop\nextern "C" int f(loop n) { return 0; }')


def test_a_default_of_nullptr_makes_a_tensor_optional():
    assert parameter("const float* bias = nullptr").is_optional
    assert not parameter("const float* bias").is_optional


def test_parse_errors_elsewhere_and_unknown_macros_hide_no_launcher():
    (found,) = launchers(
        """#define RESTRICT __restrict__
        __global__ void k(float* x) {
            __shared__ __align__(16) float tile[32];
            for (int i = 0; i < 3; i++)
            #pragma unroll
            for (int j = 0; j < 3; j++) tile[j] = 0;
        }
        extern "C" int f(const float* RESTRICT x, float* RESTRICT y, int n, cudaStream_t stream) {
            k<<<1, 2, 3, stream>>>(y);
            return 0;
        }"""
    )
    assert [(one.name, one.is_const) for one in found.parameters] == [("x", True), ("y", False), ("n", False)]


def test_two_versions_of_a_launcher_under_a_condition_are_one_if_alike():
    alike = '#ifdef A\nextern "C" int f(int n) { return 0; }\n#else\nextern "C" int f(int  n) { return 1; }\n'
    (found,) = launchers(alike)
    assert found.where == "kernels/k.cu:2"
    with pytest.raises(SignatureError, match="already defined"):
        launchers(alike.replace("int  n", "long n"))


def test_a_launcher_behind_a_macro_is_found_by_its_name():
    source = (
        '#define API extern "C"\n\nAPI int f(const float* x, /* n */ int n, cudaStream_t s) { return 0; }'
    )
    assert launchers(source) == ()
    found = find_named({"kernels/k.cu": source}, "f")
    assert (found.where, found.returns, [one.name for one in found.parameters]) == (
        "kernels/k.cu:3",
        "int",
        ["x", "n"],
    )
    assert find_named({"kernels/k.cu": source}, "g") is None


@pytest.mark.parametrize(
    "hostile",
    [
        "/*" * 50_000,
        "typedef " + "a " * 50_000,
        "typedef a" + " " * 100_000,
        "#define A " + " " * 100_000 + "x(",
        "using A =" + " " * 100_000,
        '"' + "\\" * 100_000,
        "'" * 50_001,
        "int x = " + "(" * 20_000,
        'extern "C" ' + "namespace a { " * 5_000,
        'extern "C" int f(' + "int a, " * 50_000,
        "a " * 50_000 + "f(",
    ],
    ids=range(11),
)
def test_a_text_made_to_be_slow_is_read_in_good_time(hostile):
    started = time.monotonic()
    for text in (hostile, hostile + '\nextern "C" int f(int n) { return 0; }\n'):
        with contextlib.suppress(SignatureError):
            launchers(text)
        with contextlib.suppress(SignatureError):
            find_named({"kernels/k.cu": text}, "f")
    assert time.monotonic() - started < 20
