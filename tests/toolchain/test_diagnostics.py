from pathlib import Path

from warpsmith.toolchain.diagnostics import MAX_CHARACTERS, errors, warnings

ROOT = Path("/store/work/abc/src")

NVCC = """ptxas info    : 0 bytes gmem
/store/work/abc/src/kernels/k.cu(7): warning #177-D: variable "unused" was declared but never referenced
      int unused;
          ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

kernels/k.cu(3): error: identifier "oops" is undefined
  extern "C" int f(float* x) { oops(x); }
                               ^

1 error detected in the compilation of "kernels/k.cu".
"""

HOST = """In file included from /include/cuda_runtime.h:3:
kernels/k.cu: In function 'int f(float*)':
kernels/k.cu:2:30: error: 'oops' was not declared in this scope
kernels/k.cu:2:30: note: suggested alternative: 'oop'
kernels/other.cuh:1:1: warning: something else
"""


def test_only_the_errors_are_kept_with_their_own_excerpt():
    assert errors(NVCC, [ROOT], {}).splitlines() == [
        'kernels/k.cu(3): error: identifier "oops" is undefined',
        '  extern "C" int f(float* x) { oops(x); }',
        "                               ^",
    ]


def test_the_candidates_own_line_is_quoted():
    assert errors(HOST, [ROOT], {"kernels/k.cu": "line 1\n  oops(x);\n"}).splitlines() == [
        "kernels/k.cu:2:30: error: 'oops' was not declared in this scope",
        "  2 |   oops(x);",
        "kernels/k.cu:2:30: note: suggested alternative: 'oop'",
    ]


def test_a_place_beyond_the_source_is_not_quoted():
    assert errors("kernels/k.cu:99:1: error: end of file", [], {"kernels/k.cu": "x"}).count("\n") == 0


def test_a_linkers_complaint_is_an_error():
    log = "/usr/bin/ld: objects/a.o: in function `f':\na.cpp:(.text+0x9): undefined reference to `g'\n"
    assert "undefined reference to `g'" in errors(log, [], {})


def test_an_unknown_complaint_is_kept_whole():
    assert errors("Segmentation fault\n", [], {}) == "Segmentation fault"


def test_a_flood_is_cut_at_a_line_and_counted():
    log = "\n".join(f"kernels/k.cu({n}): error: number {n}" for n in range(1000))
    shown = errors(log, [], {})
    assert len(shown) <= MAX_CHARACTERS
    *lines, last = shown.splitlines()
    assert lines == log.splitlines()[: len(lines)]
    assert last == f"… {1000 - len(lines)} more lines in the build's logs"


def test_warnings_name_the_candidates_files_and_leave_out_what_every_build_says():
    assert warnings(NVCC.partition("Remark")[0], [ROOT]).splitlines() == [
        'kernels/k.cu(7): warning #177-D: variable "unused" was declared but never referenced',
        "      int unused;",
        "          ^",
    ]
