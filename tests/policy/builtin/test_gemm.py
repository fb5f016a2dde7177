"""Products as really run, on the cpu device and on a GPU where there is one, each method against float64."""

import importlib.util
import sys

import pytest
import torch

from warpsmith.device import GPUS, select_device
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.plan import make_plan
from warpsmith.policy.builtin.program import write_program
from warpsmith.policy.builtin.recipes.gemm import Gemm
from warpsmith.sandbox.process import ProcessSandbox
from warpsmith.toolchain import Build, Store, Toolchain

GPU = GPUS["h200"]
MODULE = """
import torch
from torch import nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(101, 77)
        self.bias = nn.Parameter(torch.randn(77))
        self.whole = nn.Parameter(torch.randn(37, 77))

    def forward(self, x, y, z):
        return BODY

def get_init_inputs():
    return []

def get_inputs():
    return [torch.randn(4, 37, 101), torch.randn(4, 101, 77), torch.randn(4, 77, 101)]
"""

# Of sizes that are no multiple of anything.
PRODUCTS = {
    "bias, relu": "torch.relu(self.up(x))",
    "addend": "x[1] @ y[2] * 0.5 + self.whole + self.bias",
    "right transposed": "torch.bmm(x, z.mT)",
    "left transposed": "torch.bmm(z.mT, z)",
    "both transposed": "torch.bmm(y.mT, x.mT)",
    "one right for a batch": "y.mT @ self.up.weight.t()",
    "slices": "x[0, :, 8:72] @ y[0, 4:68, :48]",
}
PROGRAMS = {
    "fp32": tuple(PRODUCTS),
    "bf16x3": tuple(PRODUCTS),
    "bf16x3_in_two": ("addend", "left transposed"),
    "tf32x3": ("left transposed",),
    "bf16x6": ("addend",),
}
# Tensor cores truncate as they add, which the cpu device does not: 5.2e-6 on an H200 for tf32x3.
ALLOWED = {"fp32": 5e-6, "bf16x6": 8e-6, "tf32x3": 8e-6, "bf16x3": 8e-5, "bf16x3_in_two": 8e-5}


class Workbench:
    """A reference with inputs and float64 truth, and programs built in its place."""

    def __init__(self, toolchain, body, source=MODULE):
        self.toolchain = toolchain
        self.place = torch.device(toolchain.device.kind)
        self.source = source.replace("BODY", body)
        self.graph = capture(self.source)
        names = executed(self.source)
        torch.manual_seed(1)
        self.reference = names["Model"]().eval().to(self.place)
        self.inputs = [x.to(self.place) for x in names["get_inputs"]()]
        exact = names["Model"]().double().to(self.place)
        exact.load_state_dict(self.reference.state_dict())
        with torch.no_grad():
            self.truth = exact(*(x.double() for x in self.inputs))

    def program(self, method):
        """ModelNew with the reference's weights, every product by `method`."""
        plan = make_plan(self.graph, GPU, (Gemm(),))
        choice = {
            group.name: next(v for v in Gemm().variants(group, GPU) if v.settings["method"] == method)
            for group in plan.groups
        }
        candidate = write_program(self.graph, plan, choice)
        build = self.toolchain.build(candidate)
        assert isinstance(build, Build), build
        extension = imported(build.folder / "cuda_extension.py")
        sys.modules["cuda_extension"] = extension
        try:
            model = executed(candidate.text("model_new.py"))["ModelNew"]().to(self.place)
        finally:
            del sys.modules["cuda_extension"]
        model.load_state_dict(self.reference.state_dict())
        return model


def executed(source):
    namespace = {}
    exec(source, namespace)
    return namespace


def imported(path):
    spec = importlib.util.spec_from_file_location("cuda_extension", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def largest_error(result, truth):
    """Relative to the truth's root mean square."""
    return ((result.double() - truth).abs().max() / truth.square().mean().sqrt()).item()


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def toolchain(request, tmp_path_factory):
    return Toolchain(select_device(request.param), Store(tmp_path_factory.mktemp("store")), ProcessSandbox())


@pytest.fixture(scope="module")
def linear(toolchain):
    """One Linear deep enough for its rounding errors to add up.

    On a GPU it is large as well: cuBLAS sums a small one in pieces, far more exactly than a large one.
    """
    rows, cols = (16, 24) if toolchain.device.kind == "cpu" else (2048, 2048)
    source = MODULE.replace("nn.Linear(101, 77)", f"nn.Linear(4096, {cols})")
    source = source.replace("(4, 37, 101)", f"({rows}, 4096)")
    return Workbench(toolchain, "self.up(x)", source)


@pytest.mark.parametrize("method", PROGRAMS)
def test_every_method_computes_every_product(toolchain, method):
    bodies = {name: PRODUCTS[name] for name in PROGRAMS[method]}
    bench = Workbench(toolchain, f"({', '.join(bodies.values())},)")
    model = bench.program(method)
    with torch.no_grad():
        results = model(*bench.inputs)
    for name, result, truth in zip(bodies, results, bench.truth, strict=True):
        assert result.shape == truth.shape, name
        assert largest_error(result, truth) < ALLOWED[method], name


@pytest.mark.parametrize("method", ["bf16x3", "tf32x3"])
def test_a_deep_product_of_parts_is_in_the_class_of_fp32(linear, method):
    model = linear.program(method)
    with torch.no_grad():
        error = largest_error(model(*linear.inputs), linear.truth)
        fp32 = largest_error(linear.reference(*linear.inputs), linear.truth)
    assert error < 16 * fp32


def test_a_weight_is_split_once_and_again_when_it_changes(linear):
    model = linear.program("bf16x3")
    splits = []
    split = model.linear_b_parts.split
    model.linear_b_parts.split = lambda *tensors: splits.append(1) or split(*tensors)

    def is_right():
        with torch.no_grad():
            x, weight, bias = (t.double() for t in (linear.inputs[0], model.up.weight, model.up.bias))
            return largest_error(model(*linear.inputs), torch.nn.functional.linear(x, weight, bias)) < 1e-4

    changes = (
        lambda: None,
        lambda: model.load_state_dict({k: -v for k, v in model.state_dict().items()}),
        lambda: model.up.weight.detach().mul_(0.5),
        lambda: setattr(model.up.weight, "data", torch.randn_like(model.up.weight.detach())),
        lambda: setattr(model.up, "weight", torch.nn.Parameter(torch.randn_like(model.up.weight.detach()))),
    )
    for count, change in enumerate(changes, start=1):
        change()
        assert is_right()
        assert is_right()
        assert len(splits) == count


def test_parts_are_no_part_of_the_state(linear):
    model = linear.program("bf16x3")
    with torch.no_grad():
        model(*linear.inputs)
    assert model.state_dict().keys() == linear.reference.state_dict().keys()


def test_infinities_stay_infinite(linear):
    model = linear.program("bf16x3")
    x = torch.ones_like(linear.inputs[0])
    x[3, 7] = float("inf")
    with torch.no_grad():
        model.up.weight.fill_(1.0 + 2.0**-10)  # has a second part
        result = model(x, *linear.inputs[1:])
    assert torch.isinf(result[3]).all()
    assert torch.isfinite(result[:3]).all()


def test_an_input_that_lies_at_an_odd_address_is_read_right(linear):
    model = linear.program("fp32")
    x = linear.inputs[0]
    shifted = torch.empty(x.numel() + 1, device=x.device)[1:].view(x.shape).copy_(x)
    assert shifted.is_contiguous()
    with torch.no_grad():
        model(*linear.inputs)
        assert largest_error(model(shifted, *linear.inputs[1:]), linear.truth) < 1e-4


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_has_one_method_and_fused_gelu(toolchain, dtype):
    source = MODULE.replace("super().__init__()", f"super().__init__(); to = torch.{dtype}")
    source = source.replace("nn.Linear(101, 77)", "nn.Linear(101, 77, dtype=to)")
    source = source.replace("torch.randn(4, 37, 101)", f"torch.randn(4, 37, 101, dtype=torch.{dtype})")
    bench = Workbench(toolchain, "F.gelu(self.up(x), approximate='tanh')", source)
    assert len(make_plan(bench.graph, GPU).groups) == 1
    model = bench.program("direct")
    with torch.no_grad():
        result = model(*bench.inputs)
    assert result.dtype is getattr(torch, dtype)
    # A rounding of the largest element, some six times the root mean square, and cuBLASLt's own tanh.
    assert largest_error(result, bench.truth) < (8e-3 if dtype == "float16" else 3e-2)


def test_a_large_product_is_predicted_fastest_in_parts_and_a_small_one_in_fp32():
    def first(rows, width):
        source = MODULE.replace("(4, 37, 101)", f"({rows}, {width})").replace(
            "101, 77)", f"{width}, {width})", 1
        )
        graph = capture(source.replace("BODY", "self.up(x)"))
        return Gemm().variants(Gemm().match(graph, graph.nodes), GPU)[0].settings["method"]

    assert first(8192, 4096).startswith("bf16x3")
    assert first(16, 64) == "fp32"
