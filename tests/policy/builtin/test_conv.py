"""Convolutions as really run, against float64; tensor-core instructions are played by shuffles."""

import importlib.util
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from warpsmith.core import Candidate, Precision
from warpsmith.device import select_device
from warpsmith.policy.builtin.plan import Plan, recipe_of
from warpsmith.policy.builtin.program import write_program
from warpsmith.policy.builtin.search import coordinates_of
from warpsmith.sandbox.process import ProcessSandbox
from warpsmith.toolchain import Build, Store, Toolchain, find_nvcc

MMA = Path(__file__).with_name("mma_on_cpu.cuh").read_text(encoding="utf-8")
HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

def r(*shape):
    return torch.randn(shape)

"""


@dataclass(frozen=True)
class Case:
    """A convolution self.c of x, and `result` over it, y and z."""

    module: str
    inputs: str
    result: str = "self.c(x)"


CASES = {
    "a plain one": Case("nn.Conv2d(5, 9, 3)", "r(2, 5, 11, 13)"),
    "steps of every kind": Case("nn.Conv2d(4, 18, (3, 5), (2, 3), (2, 1), (2, 2))", "r(2, 4, 17, 23)"),
    "same padding": Case("nn.Conv2d(3, 4, (3, 5), padding='same', dilation=2)", "r(1, 3, 9, 10)"),
    "one channel": Case("nn.Conv2d(1, 1, 3, padding=1, bias=False)", "r(3, 1, 7, 5)"),
    "one pixel": Case("nn.Conv2d(16, 24, 1)", "r(3, 16, 1, 1)"),
    "pointwise, every other pixel": Case("nn.Conv2d(16, 24, 1, 2)", "r(3, 16, 9, 8)"),
    "more padding than kernel": Case("nn.Conv2d(2, 5, 3, padding=4)", "r(2, 2, 3, 3)"),
    "one axis": Case("nn.Conv1d(8, 20, 3, 3, 0, 4, bias=False)", "r(3, 8, 100)"),
    "three axes": Case("nn.Conv3d(3, 16, (3, 2, 4), padding=1)", "r(2, 3, 5, 6, 7)"),
    "groups": Case("nn.Conv2d(12, 18, 3, 2, 1, groups=3)", "r(2, 12, 9, 11)"),
    "depthwise": Case("nn.Conv2d(12, 12, 3, padding=1, groups=12)", "r(3, 12, 17, 19)"),
    "depthwise, twice as many": Case("nn.Conv2d(6, 12, (3, 1), (2, 1), groups=6)", "r(3, 6, 17, 19)"),
    "no batch": Case("nn.Conv1d(4, 6, 3)", "r(4, 20)"),
    "transposed": Case("nn.ConvTranspose2d(8, 10, 3)", "r(2, 8, 6, 7)"),
    "transposed, steps of every kind": Case(
        "nn.ConvTranspose2d(6, 10, (3, 4), (2, 3), (1, 2), (1, 0), dilation=(2, 1))", "r(2, 6, 7, 9)"
    ),
    "transposed, three axes, groups": Case(
        "nn.ConvTranspose3d(8, 16, (3, 5, 7), 2, (1, 2, 3), 1, groups=4)", "r(2, 8, 3, 4, 5)"
    ),
    "transposed, gaps between kernels": Case("nn.ConvTranspose1d(3, 8, 2, 5, 0, 2)", "r(2, 3, 6)"),
    "operands of every shape": Case(
        "nn.Conv2d(3, 8, 3, padding=1)",
        "r(2, 3, 6, 7), r(2, 8, 7, 6), r(8, 1, 1)",
        "torch.sigmoid(self.c(x) * z) + y.mT - z[2] * x[:, :1]",
    ),
    "a batch norm": Case("nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())", "r(2, 3, 6, 7)"),
    "its input added": Case("nn.Conv2d(4, 4, 3, padding=1)", "r(2, 4, 6, 7)", "self.c(x) + x"),
    "an input that lies otherwise": Case(
        "nn.Conv2d(4, 6, 3)", "r(2, 9, 8, 4)", "self.c(x.permute(0, 3, 1, 2))"
    ),
    "a computed weight": Case("nn.Identity()", "r(2, 4, 8, 9), r(6, 4, 3, 3)", "F.conv2d(x, y * 2)"),
}
FUSED = ("operands of every shape", "a batch norm", "its input added")
VARIED = {
    "four channels a tap": Case(
        "nn.Conv2d(20, 36, 3, 2, 1)",
        "r(2, 20, 17, 19)",
        "torch.relu(self.c(x)) * 2 + self.c.bias[:, None, None]",
    ),
    "odd channels, groups": Case("nn.Conv2d(10, 12, (2, 3), groups=2)", "r(3, 10, 9, 13)"),
    "transposed": Case("nn.ConvTranspose2d(6, 70, (3, 4), 2, 1, 1)", "r(2, 6, 9, 8)", "self.c(x).tanh()"),
    "depthwise": Case("nn.Conv3d(6, 12, (2, 3, 2), (1, 2, 1), 1, (1, 2, 1), groups=6)", "r(2, 6, 4, 13, 9)"),
    "half precision at the end": Case("nn.Conv2d(5, 16, 2)", "r(2, 5, 9, 9)", "(self.c(x) * 2).half()"),
    "half precision": Case("nn.Conv2d(12, 16, 3).half()", "r(2, 12, 9, 9).half()", "self.c(x).relu()"),
}

DEEP = Case("nn.Conv2d(64, 144, 3, padding=1)", "r(2, 64, 9, 40)", "F.gelu(self.c(x))")


def task(cases):
    """All cases as one module, which one build serves."""
    parts = [HEAD]
    for k, case in enumerate(cases):
        parts.append(
            f"class Part{k}(nn.Module):\n"
            f"    def __init__(self):\n        super().__init__()\n        self.c = {case.module}\n\n"
            f"    def forward(self, x, y=None, z=None):\n        return {case.result}\n\n"
        )
    numbers = range(len(cases))
    parts.append("class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n")
    parts += [f"        self.part{k} = Part{k}()\n" for k in numbers]
    formals = ", ".join(f"x{k}, y{k}, z{k}" for k in numbers)
    results = ", ".join(f"self.part{k}(x{k}, y{k}, z{k})" for k in numbers)
    parts.append(f"\n    def forward(self, {formals}):\n        return [{results}]\n\n")
    parts.append("def get_inputs():\n    inputs = []\n")
    for case in cases:
        parts.append(f"    given = ({case.inputs},)\n    inputs += [*given, *[None] * (3 - len(given))]\n")
    parts.append("    return inputs\n\ndef get_init_inputs():\n    return []\n")
    return "".join(parts)


def playable(files):
    """A candidate of `files` that the CPU runs."""
    found = dict(files)
    return Candidate.of({**found, "kernels/mma.cuh": MMA} if "kernels/mma.cuh" in found else found)


def programs(bench, source):
    """The program of a module that is one kernel, in each of that kernel's variants, under their names."""
    graph, plan = bench.plan(source)
    (group,) = plan.groups
    for number, variant in enumerate(recipe_of(group).variants(group, bench.gpu)):
        renamed = replace(group, name=f"{group.name}_{number}")
        yield variant, write_program(graph, Plan(groups=(renamed,)), {renamed.name: variant})


@pytest.fixture(scope="module")
def first_guesses(bench):
    return bench.run(task(list(CASES.values())))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_convolution_computes_what_the_module_does(first_guesses, name):
    assert first_guesses.error(list(CASES).index(name)) < 2e-6


def test_what_follows_a_convolution_is_part_of_its_kernel(bench):
    _, plan = bench.plan(task([CASES[name] for name in FUSED]))
    assert [group.recipe for group in plan.groups] == ["conv"] * len(FUSED)


def test_every_convolution_takes_what_follows_it(bench):
    layers = (
        "nn.Conv2d(8, 4, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 8, 3, padding=1), nn.BatchNorm2d(8)"
    )
    case = Case(
        f"nn.Sequential({layers})", "r(4, 8, 16, 16)", "torch.relu(self.c(torch.relu(self.c(x) + x)))"
    )
    _, plan = bench.plan(task([case]))
    assert [group.recipe for group in plan.groups] == ["conv"] * 4
    assert [group.nodes[-1].op for group in plan.groups] == ["relu"] * 4


ALLOWED = {"bf16x3": 1e-4, "tf32": 4e-3}


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIED)
def test_every_variant_computes_what_the_module_does(bench, name):
    source = task([VARIED[name]])
    written = list(programs(bench, source))
    assert len(written) > 2
    together = playable(file for _, one in written for file in one.files)
    exact = 1e-3 if "half" in name else 3e-6
    with bench.loaded(together):
        errors = {variant.name: bench.compare(source, one).error() for variant, one in written}
    for variant, _ in written:
        allowed = max(ALLOWED.get(str(variant.settings["method"]), 0.0), exact)
        assert errors[variant.name] < allowed, variant.name


@st.composite
def convolutions(draw):
    """A convolution of one to three axes whose result is not empty."""
    rank = draw(st.integers(1, 3))
    groups = draw(st.sampled_from((1, 1, 2, 3)))
    channels, filters = (groups * draw(st.integers(1, 5)) for _ in range(2))
    is_transposed = draw(st.booleans())
    kernel, stride, dilation = (tuple(draw(st.integers(1, most)) for _ in range(rank)) for most in (4, 3, 2))
    padding = tuple(draw(st.integers(0, n - 1)) for n in kernel)
    sizes = tuple(n * 2 + draw(st.integers(1, 4)) for n in kernel)
    options = f"{kernel}, {stride}, {padding}, dilation={dilation}, groups={groups}"
    if is_transposed:
        over = tuple(draw(st.integers(0, max(n, m) - 1)) for n, m in zip(stride, dilation, strict=True))
        options += f", output_padding={over}"
    name = f"nn.Conv{'Transpose' if is_transposed else ''}{rank}d"
    shape = ", ".join(map(str, (draw(st.integers(1, 3)), channels, *sizes)))
    return Case(f"{name}({channels}, {filters}, {options})", f"r({shape})")


@pytest.mark.slow
@given(cases=st.lists(convolutions(), min_size=16, max_size=16), rank=st.sampled_from((0, 0, 8, 11)))
@settings(max_examples=3, deadline=None, database=None, derandomize=True, phases=[Phase.generate])
def test_convolutions_of_any_kind_are_those_of_torch(bench, cases, rank):
    source = task(cases)
    candidate = playable(bench.write(source, rank).files)
    with bench.loaded(candidate):
        found = bench.compare(source, candidate)
    for k, case in enumerate(cases):
        assert found.error(k) < (4e-3 if "kernels/mma.cuh" in dict(candidate.files) else 3e-6), case


def error_on(kind, store, source, candidate):
    """The largest error of `candidate`, built for a device of this kind and run there, as in `Outcome`."""
    toolchain = Toolchain(select_device(kind), store, ProcessSandbox())
    build = toolchain.build(candidate)
    assert isinstance(build, Build), build
    spec = importlib.util.spec_from_file_location("cuda_extension", build.folder / "cuda_extension.py")
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    torch.manual_seed(0)
    task_names, own_names = {}, {}
    exec(source, task_names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cuda_extension", extension)
        exec(candidate.text("model_new.py"), own_names)
    model = task_names["Model"]().eval()
    inputs = [item if item is None else item.to(kind) for item in task_names["get_inputs"]()]
    replacement = own_names["ModelNew"]().eval()
    replacement.load_state_dict(model.state_dict())
    with torch.no_grad():
        (found,) = replacement.to(kind)(*inputs)
        (truth,) = model.to(kind).double()(*(item if item is None else item.double() for item in inputs))
    return ((found.double() - truth).abs() / (truth.abs() + truth.pow(2).mean().sqrt())).max().item()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(
    "case", [VARIED["depthwise"], VARIED["four channels a tap"], VARIED["transposed"], DEEP]
)
def test_variants_are_right_as_the_device_itself_runs_them(bench, tmp_path, kind, case):
    source = task([case])
    written = list(programs(bench, source))
    for variant, candidate in written[:1] if kind == "cpu" else written:
        allowed = max(ALLOWED.get(str(variant.settings["method"]), 0.0), 2e-5)
        assert error_on(kind, Store(tmp_path), source, candidate) < allowed, variant.name


NAMED = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(4, 32, 3)

    def forward(self, blocks, finish, place, weight):
        return self.c(blocks) * finish + place - weight

def get_inputs():
    return [r(2, 4, 8, 9), r(32, 1, 1), r(2, 32, 6, 7), r(7)]

def get_init_inputs():
    return []
"""


@pytest.mark.slow
def test_a_modules_names_stand_beside_the_kernels_own(bench):
    written = {variant.settings["method"]: one for variant, one in programs(bench, HEAD + NAMED)}
    both = [written["fp32"], written["channels"]]
    with bench.loaded(Candidate.of({path: text for one in both for path, text in one.files})):
        assert [bench.compare(HEAD + NAMED, one).error() < 2e-6 for one in both] == [True, True]


@pytest.mark.slow
def test_a_changed_weight_is_arranged_again(bench):
    source = task([Case("nn.Conv2d(16, 64, 3)", "r(2, 16, 20, 20)")])
    candidate = next(one for variant, one in programs(bench, source) if variant.settings["method"] == "fp32")
    with bench.loaded(candidate), torch.no_grad():
        replacement = bench.module(candidate.text("model_new.py")).ModelNew()
        conv = replacement.part0.c
        x = torch.randn(2, 16, 20, 20)
        for _ in range(2):
            conv.weight.detach().normal_()
            conv.bias.detach().zero_()
            wanted = torch.nn.functional.conv2d(x, conv.weight)
            for _ in range(2):
                (found,) = replacement(x, None, None)
                torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_safe_methods_come_first_and_rounding_only_where_it_is_accepted(bench):
    _, plan = bench.plan(task([Case("nn.Conv2d(64, 128, 3)", "r(8, 64, 100, 100)")]))

    def methods(precision):
        (coordinate,) = coordinates_of(plan, bench.gpu, precision)
        return [variant.settings["method"] for variant in coordinate.variants]

    strict = methods(Precision.REFERENCE)
    assert strict[0] == "fp32"
    assert {"tf32x3", "bf16x3"} < set(strict)
    assert "tf32" not in strict
    assert methods(Precision.TF32)[0] == "tf32"


@pytest.mark.slow
@pytest.mark.skipif(find_nvcc() is None, reason="needs nvcc")
@pytest.mark.parametrize("name", ["four channels a tap", "transposed", "depthwise"])
def test_every_variant_compiles_for_a_gpu_without_spills(bench, tmp_path, name):
    nvcc = find_nvcc()
    for variant, candidate in programs(bench, task([VARIED[name]])):
        folder = tmp_path / variant.name.replace(" ", "_")
        for path, text in candidate.files:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        (kernels,) = (folder / "kernels").glob("*.cu")
        flags = ("-cubin", "-gencode=arch=compute_90,code=sm_90", "-O3", "-std=c++17", "-Xptxas", "-v")
        done = subprocess.run(
            [nvcc.path, *flags, "-o", folder / "out.cubin", kernels],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert all("0 bytes spill stores" in line for line in done.stderr.splitlines() if "spill" in line)
