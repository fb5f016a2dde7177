"""Attention: read out of a graph in either form, and computed without its scores in memory."""

import subprocess

import pytest

from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.plan import make_plan
from warpsmith.toolchain import find_nvcc

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
SDPA = "F.scaled_dot_product_attention"


def task(result, inputs, parts="pass"):
    return (
        f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n        {parts}\n\n"
        f"    def forward(self, x, y=None, z=None, w=None):\n        return {result}\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return []\n"
    )


def r(*shape):
    return f"torch.randn{shape}"


def three(*shape):
    return ", ".join([r(*shape)] * 3)


WRITTEN = {
    "full": task(f"{SDPA}(x, y, z)", three(2, 3, 70, 16)),
    "causal": task(f"{SDPA}(x, y, z, is_causal=True)", three(2, 2, 131, 32)),
    "causal, fewer keys than queries": task(
        f"{SDPA}(x, y, z, is_causal=True)", f"{r(1, 90, 8)}, {r(1, 30, 8)}, {r(1, 30, 8)}"
    ),
    "causal, more keys than queries": task(
        f"{SDPA}(x, y, z, is_causal=True)", f"{r(1, 5, 8)}, {r(1, 90, 8)}, {r(1, 90, 8)}"
    ),
    "odd sizes, own scale": task(
        f"{SDPA}(x, y, z, scale=0.3)", f"{r(3, 1, 7)}, {r(3, 67, 7)}, {r(3, 67, 5)}"
    ),
    "a mask of bools": task(
        f"{SDPA}(x, y, z, attn_mask=w)",
        f"{three(2, 3, 20, 12)}, (torch.rand(2, 1, 20, 20) < 0.7).index_fill(-1, torch.tensor(0), True)",
    ),
    "a mask to add": task(f"{SDPA}(x, y, z, attn_mask=w)", f"{three(2, 2, 33, 24)}, {r(33, 33)}"),
    "by hand": task("torch.softmax(x @ y.transpose(-2, -1) / 4, -1) @ z", three(2, 3, 40, 16)),
    "by hand, a large head": task("torch.softmax(x @ y.transpose(-2, -1) / 11, -1) @ z", three(2, 65, 128)),
    "by hand, a causal buffer": task(
        "torch.softmax((x @ y.mT * 0.2).masked_fill(self.m[:, :, :30, :30] == 0, float('-inf')), -1) @ z",
        three(2, 3, 30, 16),
        "self.register_buffer('m', torch.tril(torch.ones(40, 40)).view(1, 1, 40, 40))",
    ),
    "by hand, a bias by position": task(
        "torch.softmax(x @ y.transpose(-2, -1) * 0.25 + self.b, -1) @ z",
        three(4, 3, 49, 16),
        "self.b = nn.Parameter(torch.randn(3, 49, 49))",
    ),
    "by relu": task("F.relu(x @ y.transpose(-2, -1) * 0.3) @ z", three(2, 3, 70, 20)),
    "heads out of one product": task(
        "(torch.softmax(x.view(2, 37, 3, 4, 8)[:, :, 0].transpose(1, 2)"
        " @ x.view(2, 37, 3, 4, 8)[:, :, 1].transpose(1, 2).transpose(-2, -1) * 0.3, -1)"
        " @ x.view(2, 37, 3, 4, 8)[:, :, 2].transpose(1, 2)).transpose(1, 2).reshape(2, 37, 32)",
        r(2, 37, 96),
    ),
    "grouped queries": task(
        f"{SDPA}(x, y, z, enable_gqa=True)", f"{r(2, 6, 20, 8)}, {r(2, 2, 24, 8)}, {r(2, 2, 24, 8)}"
    ),
}
MODULES = {
    "multi-head attention": task("self.a(x, x, x)[0]", r(21, 2, 32), "self.a = nn.MultiheadAttention(32, 4)"),
    "multi-head attention, batch first, no weights": task(
        "self.a(x, x, x, need_weights=False)[0]",
        r(2, 21, 32),
        "self.a = nn.MultiheadAttention(32, 4, batch_first=True)",
    ),
}


def planned(source, gpu):
    return make_plan(capture(source), gpu).groups


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITTEN)
def test_attention_is_one_kernel(bench, name):
    recipes = [group.recipe for group in planned(WRITTEN[name], bench.gpu)]
    assert recipes == (["elementwise", "elementwise", "attention"] if "grouped" in name else ["attention"])


@pytest.mark.slow
@pytest.mark.parametrize("variant", [0, 1])
@pytest.mark.parametrize("name", WRITTEN)
def test_attention_computes_what_the_module_does(bench, name, variant):
    assert bench.run(WRITTEN[name], variant).error() < 3e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_an_attention_module_is_products_around_one_kernel(bench, name):
    recipes = [group.recipe for group in planned(MODULES[name], bench.gpu)]
    assert recipes.count("attention") == 1
    assert bench.run(MODULES[name]).error() < 3e-6


@pytest.mark.parametrize(
    "source",
    [
        task(f"{SDPA}(x, y, z)", three(2, 40, 300)),
        task("x @ y @ z", three(2, 20, 20)),
        task("(lambda p: (p, p @ z))(torch.softmax(x @ y.transpose(-2, -1), -1))", three(2, 20, 16)),
        task("torch.softmax(x @ y.transpose(-2, -1), -2) @ z", three(2, 20, 16)),
        task(f"{SDPA}(x, y, z)", ", ".join([f"{r(2, 20, 16)}.half()"] * 3)),
    ],
    ids=["a head too large", "no softmax", "its weights are returned", "another axis", "half precision"],
)
def test_what_is_no_such_attention_goes_to_other_kernels(bench, source):
    assert "attention" not in [group.recipe for group in planned(source, bench.gpu)]


@pytest.mark.slow
@pytest.mark.skipif(find_nvcc() is None, reason="needs nvcc")
@pytest.mark.parametrize("name", ["causal", "by hand, a large head", "a mask to add"])
@pytest.mark.parametrize("variant", [0, 1])
def test_it_compiles_for_a_gpu_without_spills(bench, tmp_path, name, variant):
    candidate = bench.write(WRITTEN[name], variant)
    for path, text in candidate.files:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    (kernels,) = (tmp_path / "kernels").glob("*.cu")
    flags = ("-cubin", "-gencode=arch=compute_90,code=sm_90", "-O3", "-std=c++17", "-Xptxas", "-v")
    done = subprocess.run(
        [find_nvcc().path, *flags, "-o", tmp_path / "out.cubin", kernels],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all("0 bytes spill stores" in line for line in done.stderr.splitlines() if "spill" in line)
