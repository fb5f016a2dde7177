"""The translation of CUDA's own syntax, on tidy and on nasty input."""

import re
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpsmith.device import cpu


def launched(kernel, rest, parameters="auto&... ws_", call="ws_..."):
    quoted = kernel.strip().replace('"', '\\"')
    return f'::warpsmith::kernel("{quoted}", [&]({parameters}) {{ {kernel}({call}); }}){rest}'


LAUNCHES = [
    ("k<<<1, 2>>>(x);", launched("k", "(1, 2)(x);")),
    ("k<<<g,b,s,st>>>();", launched("k", "(g,b,s,st)();")),
    ("a::k<T, (A > B)> <<< g, b >>> (x, y);", launched("a::k<T, (A > B)> ", "( g, b ) (x, y);")),
    ("::k<V<W<3>>><<<n >> 2, V<W<4>>::v>>>(x);", launched("::k<V<W<3>>>", "(n >> 2, V<W<4>>::v)(x);")),
    ("k<<<1, V<W<4>>>>>(x);", launched("k", "(1, V<W<4>>)(x);")),
    ("if (n) o->t[i](3).f<2><<<{1, 2}, 3>>>(x);", "if (n) " + launched("o->t[i](3).f<2>", "({1, 2}, 3)(x);")),
    ("if (n) (*k)<<<1, 1>>>(x, (y, z));", "if (n) " + launched("(*k)", "(1, 1)(x, (y, z));")),
    ("else k<<<1, 1>>>(x);", "else " + launched("k", "(1, 1)(x);")),
    ("S::template k<4><<<1, 1>>>(x);", launched("S::template k<4>", "(1, 1)(x);")),
    ('k<S("a")><<<1, 1>>>(x);', launched('k<S("a")>', "(1, 1)(x);")),
    # A null pointer or a braced list must stand in the call itself.
    (
        "k<<<1, 1>>>(x, NULL, {1, 2}, 0, y);",
        launched("k", "(1, 1)(x   , y);", "auto& ws0_, auto& ws4_", "ws0_, NULL, {1, 2}, 0, ws4_"),
    ),
    ("k<<<1, 1>>>(0, x);", launched("k", "(1, 1)( x);", "auto& ws1_", "0, ws1_")),
    ("k<<<1, 1>>>(NULL);", launched("k", "(1, 1)();", "", "NULL")),
    ("k<<<1, 1>>>(f<0, 0>(x));", launched("k", "(1, 1)(f<0, 0>(x));")),
    ("k<<<1, 1>>>(f<int, 0>(x), 0);", launched("k", "(1, 1)(f<int, 0>(x) );", "auto& ws0_", "ws0_, 0")),
    ("k<<<1, 1>>>(a < b, 0);", launched("k", "(1, 1)(a < b, 0);")),
    ("k<<<1, 1>>>(xs..., 0);", launched("k", "(1, 1)(xs..., 0);")),
]


@pytest.mark.parametrize(("source", "expected"), LAUNCHES, ids=[source for source, _ in LAUNCHES])
def test_a_launch_becomes_a_call(source, expected):
    assert cpu.translate(f"void f() {{ {source} }}") == f"void f() {{ {expected} }}"


def test_a_launch_inside_a_macro_keeps_its_continuation_lines():
    source = "#define RUN(K, ...) \\\n  K<<<g, \\\n   b>>>(__VA_ARGS__, 0)\nint x;\n"
    translated = cpu.translate(source)
    assert translated.splitlines()[1:] == [
        '  ::warpsmith::kernel("K", [&](auto&... ws_) { K(ws_...); })(g, \\',
        "   b)(__VA_ARGS__, 0)",
        "int x;",
    ]


def test_a_kernels_name_may_be_pasted_together():
    source = "#define RUN(T, N) run_##T##_x<N><<<1, 2>>>(p);\n"
    assert cpu.translate(source) == "#define RUN(T, N) " + launched("run_##T##_x<N>", "(1, 2)(p);\n")


UNCHANGED = [
    "// k<<<1, 2>>>(x) and extern __shared__ float s[];\n",
    "// a comment that goes on \\\n k<<<1, 2>>>(x)\n",
    "/* k<<<1, 2>>>(x)\n extern __shared__ float s[]; */",
    'const char* s = "k<<<1, 2>>>(x); // \\" k<<<1, 1>>>(y)";',
    'const char* s = R"cuda(" k<<<1, 2>>>(x) )" )cuda";',
    "char c = '\"'; int y = 1 << 2 << 3; int z = a >> b >> c; bool b = x<<3 > y>>2;",
    "int million = 1'000'000; char q = '\\'';",
    "#error don't do this\nint x;\n",
    "std::ostream& operator<<<T>(std::ostream& out);",
    "std::vector<std::vector<std::vector<int>>> deep;",
    "<<<<<<< ours\n=======\n>>>>>>> theirs\n",
    "k<<<1, 2>>>;",
    "k<<<1, 2>>(x);",
    "<<<1, 2>>>(x);",
    "k<<<(1, 2>>>(x);",
    '"unterminated k<<<1, 2>>>',
    "__attribute__((__noinline__)) void f();",
    "template <> __device__ float f<float>(float x);",
    "template __global__ void k<float>(float*);",
    "__device__ float Functor::operator()(float x) const { return x; }",
    "template <class T> __device__ T Box<T>::get() { return value; }",
    "struct S { __device__ float operator()(float x) const { return x; } };",
    "class C { public: template <class T> __device__ T f(T x); };",
    "__host__ __device__ float f(float x) { return x; }",
    'extern "C" __device__ float f(float x) { return x; }',
    "extern __device__ int counter;",
    "__device__ float f(float x) { return x; }",
    "__global__ void k(float* x) {}",
    'extern "C" __global__ void k(float* x) {}',
    "auto f = [] __device__ (float x) { return x; };",
    "void f() { auto g = [=] __device__ (int i) { return i; }; }",
    "__global__ void __launch_bounds__(256) k(int n);",
]


@pytest.mark.parametrize("source", UNCHANGED)
def test_what_is_no_launch_or_declaration_of_ours_stays_as_it_is(source):
    assert cpu.translate(source) == source


DECLARATIONS = [
    ("{ extern __shared__ float s[]; }", "{   float (*const s) = ::warpsmith::DynamicShared{}; }"),
    (
        "{ extern __shared__ __align__(16) unsigned char s[]; }",
        "{    unsigned char (*const s) = ::warpsmith::DynamicShared{}; }",
    ),
    (
        "{ extern volatile __shared__ float a[], b[][8]; }",
        "{  volatile  float (*const a) = ::warpsmith::DynamicShared{},"
        " (*const b)[8] = ::warpsmith::DynamicShared{}; }",
    ),
    ("{ __shared__ extern half2 s[]; }", "{   half2 (*const s) = ::warpsmith::DynamicShared{}; }"),
    ("{ extern __shared__ V<T, 4> s[]; }", "{   V<T, 4> (*const s) = ::warpsmith::DynamicShared{}; }"),
    ("{ extern alignas(16) __shared__ T s []; }", "{    T (*const s ) = ::warpsmith::DynamicShared{}; }"),
    (
        "extern __shared__ int s[];",
        "static thread_local   int (*const s) = ::warpsmith::DynamicShared{};",
    ),
    ("{ static __shared__ float s[4]; }", "{  __shared__ float s[4]; }"),
    ("{ __shared__ float s[4][33]; }", "{ __shared__ float s[4][33]; }"),
    ("{ __shared__ alignas(16) float s[4]; }", "{ __shared__ __align__(16) float s[4]; }"),
    ("__device__ int counter;", "static __device__ int counter;"),
    ("__constant__ float c[2] = {1, 2};", "static __constant__ float c[2] = {1, 2};"),
    ("namespace a { __constant__ int c; }", "namespace a { static __constant__ int c; }"),
    ("namespace { inline __device__ V<T> f() {} }", "namespace { inline static __device__ V<T> f() {} }"),
    ("static __device__ float f();", "static __device__ float f();"),
    (
        "__device__ __forceinline__ float4 operator+(float4 a, float4 b);",
        "static __device__ __forceinline__ float4 operator+(float4 a, float4 b);",
    ),
    (
        "template <typename T, int N = 4> __device__ T f(T x) { return x; }",
        "template <typename T, int N = 4> static __device__ T f(T x) { return x; }",
    ),
    (
        "template <int N> __global__ void k(int* x) {}",
        "template <int N> static __global__ void k(int* x) {}",
    ),
    ("__noinline__ float f();", "__attribute__((noinline)) float f();"),
    (
        "__global__ void __launch_bounds__(32 * (W), 2) k(int n) { f(); }",
        "__global__ void __launch_bounds__(32 * (W), 2) k(int n) {"
        " ::warpsmith::check_launch_bound(32 * (W)); f(); }",
    ),
]


@pytest.mark.parametrize(("source", "expected"), DECLARATIONS, ids=[pair[0] for pair in DECLARATIONS])
def test_a_declaration_means_the_same_on_the_host(source, expected):
    assert cpu.translate(source) == expected


def test_lines_keep_their_numbers():
    source = "\n".join(
        [
            "__global__ void",
            "__launch_bounds__(128,",
            "    2)",
            "k(float* x) {",
            "  extern __shared__",
            "    __align__(16)",
            "    float s[];",
            "}",
            "void f() {",
            "  k",
            "  <<<1,  // one block",
            "    2>>>(",
            "    x,",
            "    NULL,",
            "    y);",
            "  marker_15;",
            "}",
        ]
    )
    translated = cpu.translate(source)
    assert translated.count("\n") == source.count("\n")
    assert translated.split("\n")[15] == "  marker_15;"


def test_a_compilers_message_points_at_the_authors_line(tmp_path):
    source = tmp_path / "broken.cpp"
    source.write_text(
        cpu.translate(
            "__global__ void k(int n) {}\nvoid f() {\n  k<<<1,\n    2>>>(\n    3);\n  int x = nowhere;\n}\n"
        )
    )
    done = subprocess.run(
        ["g++", *cpu.compile_flags(), "-fsyntax-only", source], capture_output=True, text=True, check=False
    )
    assert re.search(r"broken\.cpp:6:11: error: .*nowhere", done.stderr)


FRAGMENTS = [
    "k<<<",
    ">>>",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ",",
    ";",
    "x",
    "::",
    '"',
    "'",
    "//",
    "/*",
    "*/",
    "\n",
]
FRAGMENTS += [
    "extern ",
    "__shared__ ",
    "__device__ ",
    "__launch_bounds__",
    "template",
    'R"(',
    ')"',
    "\\\n",
    "#define ",
    "0",
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40))
def test_any_input_is_translated_without_losing_a_line(fragments):
    source = "".join(fragments)
    assert cpu.translate(source).count("\n") == source.count("\n")
    cpu.unsupported(source)


UNSUPPORTED = [
    ('int x;\nasm volatile("mov.u32 %0, %laneid;" : "=r"(x));', ("inline PTX (asm)", 2)),
    ("__nv_fp8_e4m3 x;", ("8-bit floating point", 1)),
    ("using namespace nvcuda;", ("tensor-core fragments (wmma)", 1)),
    ("#include <cub/block/block_reduce.cuh>", ("the header <cub/block/block_reduce.cuh>", 1)),
    ("#include <cuda/pipeline>", ("the header <cuda/pipeline>", 1)),
    ('#include "cutlass/cutlass.h"', ("the header <cutlass/cutlass.h>", 1)),
    ("#include <curand_kernel.h>", ("the header <curand_kernel.h>", 1)),
    ("\n\nauto grid = cg::this_grid();", ("synchronization of the whole grid", 3)),
    ("const __grid_constant__ CUtensorMap map", ("the tensor memory accelerator (TMA)", 1)),
    ("void __cluster_dims__(2, 1, 1) k();", ("thread-block clusters", 1)),
    ('#if 0\nasm("");\n#else\nasm("");\n#endif', ("inline PTX (asm)", 4)),
    ('#define CP_ASYNC(x) \\\n  asm volatile("cp.async")', ("inline PTX (asm)", 2)),
]


@pytest.mark.parametrize(("source", "found"), UNSUPPORTED)
def test_what_only_a_gpu_executes_is_named_with_its_line(source, found):
    (unsupported,) = cpu.unsupported(source)
    assert (unsupported.construct, unsupported.line) == found


@pytest.mark.parametrize(
    "source",
    [
        '// asm volatile\nconst char* s = "asm wmma";',
        "#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cublas_v2.h>\n",
        "#include <mma.h>\n#include <cublasLt.h>\n#include <cooperative_groups.h>\n",
        '#include "common.cuh"\n#include <vector>\n#include <cstdint>\n',
        '#if 0\nasm("");\n#endif',
        '#if 0\n#if 1\nasm("");\n#endif\nwmma::x;\n#endif',
        "int assembly = 1; float wmma_time = 2;",
    ],
)
def test_what_runs_here_is_not_called_unsupported(source):
    assert cpu.unsupported(source) == ()
