"""Layers of one shape are compiled once, and a network's many kernels fit into a candidate's files."""

import re

import pytest

from warpsmith.core.candidate import MAX_FILES
from warpsmith.policy.builtin import sharing
from warpsmith.policy.builtin.graph import Node, Source, Value, View
from warpsmith.policy.builtin.recipes.base import Cost, Group, Part

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
LAYERS = f"""{HEAD}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(8, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.wide = nn.Conv2d(8, 12, 3, padding=1)
        self.up = nn.ModuleList(nn.Linear(70, 70) for _ in range(3))

    def forward(self, x, y):
        x = torch.relu(self.second(torch.relu(self.first(x))))
        for layer in self.up:
            y = layer(y).t().contiguous()
        return torch.relu(self.wide(x)), y


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(2, 8, 6, 7), torch.randn(70, 70)]
"""


def sources(candidate):
    return {path: text for path, text in candidate.files if path.endswith(".cu")}


@pytest.mark.slow
def test_layers_of_one_shape_share_a_kernel_and_keep_their_weights(bench):
    outcome = bench.run(LAYERS)
    assert [outcome.error(place) < 1e-5 for place in range(2)] == [True] * 2
    _, plan = bench.plan(LAYERS)
    num_convolutions = sum("convolution" in text for text in sources(outcome.candidate).values())
    assert num_convolutions == 2  # of 8 and of 12 filters
    assert len(sources(outcome.candidate)) < len(plan.groups)


KERNEL = """// {name}: exp, mul over {first}.
__global__ void {name}_kernel(const float* {first}, const float* {second}, float* mul_1_out) {{
    const float {first}_at = {first}[i];
    mul_1_out[i] = {function}({first}_at + {number}) * {other}[i];
}}
extern "C" int {name}(const float* {first}, const float* {second}) {{ return launch({first}); }}
"""
PLAIN = {
    "name": "exp_mul",
    "first": "alpha",
    "second": "beta",
    "other": "beta",
    "function": "expf",
    "number": 1,
}


def skeleton(**changed):
    """Of a kernel of two operands, written with `changed` words."""
    words = PLAIN | changed
    values = [
        Value(name=name, shape=(4,), dtype="float32", source=Source.INPUT)
        for name in (words["first"], words["second"], "mul_1")
    ]
    *read, written = values
    node = Node(op="mul", inputs=tuple(View.whole(value) for value in read), outputs=(written,))
    cost = Cost(traffic_bytes=0, launches=1)
    group = Group(
        recipe="r", name=words["name"], nodes=(node,), inputs=tuple(read), outputs=(written,), cost=cost
    )
    return sharing.Skeleton.of(KERNEL.format(**words), group)


def test_a_kernel_under_other_names_is_the_same():
    plain, other = skeleton(), skeleton(name="exp_mul_7", first="p0", second="q", other="q")
    assert plain.text == other.text
    renamed = dict(zip(other.names, plain.names, strict=True))
    assert renamed["exp_mul_7"] == "exp_mul"
    assert (renamed["p0"], renamed["q"]) == ("alpha", "beta")


@pytest.mark.parametrize(
    "changed",
    [
        {"function": "tanhf"},
        {"number": 2},
        {"number": "1e5f"},
        {"other": "alpha"},
        {"first": "beta", "second": "alpha", "other": "beta"},
        {"first": "tanhf", "function": "tanhf"},
        {"second": "float", "other": "float"},
    ],
)
def test_a_kernel_that_does_something_else_is_another(changed):
    assert skeleton(**changed).text != skeleton().text


def test_what_is_called_is_no_operand_even_if_one_has_its_name():
    first, second = (skeleton(first=name, function=name).text for name in ("expf", "tanhf"))
    assert first != second


def part(number):
    includes = '#include <math.h>\n#include "shared.cuh"\n'
    source = f'{includes}\nextern "C" int launch_{number}() {{ return {number}; }}\n'
    return Part(file=f"kernels/k{number}.cu", source=source, forward=(), note="")


def test_more_sources_than_a_candidate_may_have_are_bundled():
    parts = [part(number) for number in range(301)]
    found = sharing.with_few_files(parts)
    files = {one.file: one.source for one in found}
    assert len(files) <= sharing.MAX_SOURCES < MAX_FILES
    for number, one in enumerate(found):
        assert f"int launch_{number}()" in one.source
    text = files["kernels/kernels_1.cu"]
    assert text.count("#include <math.h>") == text.count('#include "shared.cuh"') == 1
    assert len(set(re.findall(r"namespace (part_\d+) \{", text))) == text.count("extern")


def test_few_sources_stay_as_they_are():
    parts = tuple(part(number) for number in range(sharing.MAX_SOURCES))
    assert sharing.with_few_files(parts) == parts


@pytest.mark.slow
def test_bundled_kernels_still_compute_what_the_module_does(bench, monkeypatch):
    monkeypatch.setattr(sharing, "MAX_SOURCES", 1)
    _, plan = bench.plan(LAYERS)
    outcome = bench.run(LAYERS)
    assert len(sources(outcome.candidate)) == 1 < len(plan.groups)
    assert [outcome.error(place) < 1e-5 for place in range(2)] == [True] * 2
