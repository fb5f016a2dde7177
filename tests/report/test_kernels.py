"""What the author of a kernel says of it."""

import pytest

from warpsmith.core import Candidate
from warpsmith.report.kernels import kernel_files, kernel_names, summary_of


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ("// One block a row.\n// Then scales.\n\n// not this\nint x;", "One block a row.\nThen scales."),
        ("/* One block\n * a row. */\nint x;", "One block\na row."),
        ("\n\n/**\n * Doxygen.\n */\n", "Doxygen."),
        ("#include <x>\n// late", ""),
        ("", ""),
        ("/* never closed", ""),
    ],
)
def test_the_comment_on_top_is_the_summary(source, summary):
    assert summary_of(source) == summary


def test_kernels_are_found_by_name():
    source = """
    // __global__ void commented(int x) {}
    __global__ void plain(float* x) {}
    template <int N> __global__ __launch_bounds__(256, 2) void bounded(int n) {}
    __global__ void __launch_bounds__(128) other(int n);
    static __global__ void plain(int) {}
    void host(int n) { plain<<<1, 1>>>(0); }
    """
    assert kernel_names(source) == ("plain", "bounded", "other")


def test_only_cuda_files_are_listed():
    candidate = Candidate.of({"model_new.py": "", "kernels/a.cu": "// A.", "kernels/b.cuh": "// B."})
    assert [file.path for file in kernel_files(candidate)] == ["kernels/a.cu"]
