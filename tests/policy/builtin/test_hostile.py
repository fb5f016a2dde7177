"""What could make a kernel of these recipes read, write or be named wrong."""

import subprocess

import pytest

from warpsmith.toolchain import find_nvcc

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"

# forward's parameters, its result, and the inputs.
CASES = {
    "operands with the names of a kernel's variables": (
        "row, col, start, k, at, lane, index",
        "(row * k).cumsum(1), F.max_pool1d(col + at, 2), start.argmax(1), torch.cat([lane, index], 1)",
        "r(3, 40), r(1, 3, 40), r(5, 33), r(3, 40), r(1, 3, 40), r(2, 8), r(2, 5)",
    ),
    "operands with the names of functions and constants": (
        "load, store, combine, kWidth, size",
        "(load + store).cumsum(0), combine * kWidth, size.max(0)[1]",
        "r(30, 4), r(30, 4), r(7), r(7), r(9, 5)",
    ),
    "one element": (
        "x, y",
        "x.cumsum(0), x.argmax(), F.max_pool1d(y, 1), torch.cat([x, x]), torch.triu(y[0])",
        "r(1), r(1, 1, 1)",
    ),
    "nothing": ("x, y", "torch.cat([x, y], 1), torch.cat([y, y], 0) + 1", "r(3, 0), r(3, 4)"),
    "a window that is the whole row, and wide padding": (
        "x",
        "F.max_pool1d(x, 64, 1, 32), F.avg_pool1d(x, 64, 1, 32), F.avg_pool1d(x, 64, 3, 0)",
        "r(2, 3, 64)",
    ),
    "a wide window": ("x", "F.avg_pool1d(x, 700, 1), F.max_pool1d(x, 3, 300)", "r(1, 2, 3001)"),
    "one plane among many that are read apart": (
        "x",
        "F.max_pool2d(x[:, 1:2, ::2, 1:], 2), x[:, :, 3].cumsum(1), x[..., 1:].argmax(-1)",
        "r(3, 4, 12, 9)",
    ),
    "operands that are repeated": (
        "x, y",
        "(x + y).cumsum(1), y.expand(3, 5).cumsum(0), F.avg_pool1d(y.view(1, 1, 5).expand(2, 2, 5), 2), "
        "x.expand(3, 5).argmax(1)",
        "r(3, 1), r(5)",
    ),
    "flipped operands everywhere": (
        "x",
        "x.flip(1) @ x.t().flip(0), x.flip(1).sum(1), F.max_pool1d(x.flip(1)[None], 2), x.flip(0, 1), "
        "x.flip(1).argmax(1), x.flip(1).softmax(0), torch.cat([x.flip(0), x.flip(1)])",
        "r(6, 8)",
    ),
    "planes that grow by whole factors": (
        "x, y, z",
        "F.interpolate(x, scale_factor=3.0) + 1, F.interpolate(y, scale_factor=(2.0, 3.0)), "
        "F.interpolate(y, size=(8, 5)), F.interpolate(z, size=(4, 2, 3)), "
        "F.interpolate(y.flip(3), size=(4, 15))",
        "r(2, 3, 5), r(1, 2, 4, 5), r(1, 1, 2, 2, 3)",
    ),
    "a scan of a scan of a flipped scan": ("x", "x.cumsum(0).cumsum(1).flip(1).cumsum(1)", "r(9, 40)"),
}


def task(formals, result, made):
    return (
        f"{HEAD}def r(*shape):\n    return torch.randn(shape)\n\n"
        f"class Model(nn.Module):\n    def forward(self, {formals}):\n        return [{result}]\n\n"
        f"def get_inputs():\n    return [{made}]\n\ndef get_init_inputs():\n    return []\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_program_stands_what_is_unusual(bench, name):
    outcome = bench.run(task(*CASES[name]))
    errors = [outcome.error(place) for place in range(len(outcome.outputs))]
    assert [error < 5e-6 for error in errors] == [True] * len(errors)


@pytest.mark.slow
@pytest.mark.skipif(find_nvcc() is None, reason="needs nvcc")
def test_nvcc_takes_the_kernels_without_a_warning(bench, tmp_path):
    source = task(
        "x, y, z",
        "(x * 2).cumsum(1), x.half().cumsum(0), x.max(1), x.bfloat16().argmin(0), torch.cat([x, x * 2], 1), "
        "F.max_pool2d(y.relu(), 3, 2, 1), F.avg_pool3d(y[None], 2, 1, 1, count_include_pad=False), "
        "F.max_pool1d(z, 8, 1, 4, 3), torch.triu(x), z.logcumsumexp(2), z.double().cumprod(2)",
        "r(33, 64), r(2, 3, 20, 24), r(1, 3, 5000)",
    )
    files = [(path, text) for path, text in bench.write(source).files if path.endswith(".cu")]
    for path, text in files:
        (tmp_path / path.rsplit("/", 1)[1]).write_text(text)
    nvcc = find_nvcc()
    names = [path.rsplit("/", 1)[1] for path, _ in files]
    command = [str(nvcc.path), "-arch=sm_90", "-std=c++17", "-Werror", "all-warnings", "-c", *names]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    assert len(names) > 8


def test_a_flipped_result_is_returned_in_order(bench):
    text = bench.write(task("x", "x.flip(0), (x * 2).flip(1)", "r(4, 6)")).text("model_new.py")
    assert "as_strided" not in text
