"""What is read out of a graph is what the module computes: checked in float64, with no kernel involved."""

import math

import pytest
import torch

from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.recipes.gemm import Gemm
from warpsmith.policy.builtin.recipes.gemm_product import Activation

MODULE = """
import torch
from torch import nn
import torch.nn.functional as F

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 12)
        self.bare = nn.Linear(8, 12, bias=False)
        self.matrix = nn.Parameter(torch.randn(8, 12))
        self.bias = nn.Parameter(torch.randn(12))
        self.whole = nn.Parameter(torch.randn(6, 12))

    def forward(self, x, y):
        return BODY

def get_init_inputs():
    return []

def get_inputs():
    return [torch.randn(X), torch.randn(Y)]
"""

# forward's body, shape of x, shape of y -> operators taken
TAKEN = {
    "linear": ("self.up(x)", (6, 8), (1,), "linear"),
    "linear of a batch is one product": ("self.up(x)", (2, 3, 8), (1,), "linear"),
    "linear without bias, relu": ("torch.relu(self.bare(x))", (6, 8), (1,), "linear relu"),
    "clamp at zero is relu": ("self.up(x).clamp_min(0)", (6, 8), (1,), "linear maximum"),
    "matmul of two inputs": ("torch.mm(x, y)", (6, 8), (8, 12), "mm"),
    "left transposed": ("x.t() @ y", (8, 6), (8, 12), "matmul"),
    "both transposed": ("x.t() @ y.t()", (8, 6), (12, 8), "matmul"),
    "a slice": ("x[:, 2:10] @ y", (6, 16), (8, 12), "matmul"),
    "addmm": ("torch.addmm(self.bias, x, y, alpha=0.5)", (6, 8), (8, 12), "addmm"),
    "bias after scale": ("(x @ y) * 0.5 + self.bias", (6, 8), (8, 12), "matmul mul add"),
    "whole addend": ("torch.relu(x @ y + self.whole)", (6, 8), (8, 12), "matmul add relu"),
    "addend and bias": ("self.up(x) + self.whole", (6, 8), (1,), "linear add"),
    "division": ("x @ self.matrix / 4.0", (6, 8), (1,), "matmul div"),
    "bmm": ("torch.bmm(x, y)", (3, 6, 8), (3, 8, 12), "bmm"),
    "bmm with a transposed right": ("torch.bmm(x, y.transpose(1, 2))", (3, 6, 8), (3, 12, 8), "bmm"),
    "scores of several heads": (
        "x @ y.transpose(-1, -2) * 0.25",
        (2, 3, 6, 8),
        (2, 3, 5, 8),
        "matmul mul",
    ),
    "right without batch": ("x @ y", (2, 6, 8), (8, 12), "matmul"),
    "left without batch": ("x @ y", (6, 8), (3, 8, 12), "matmul"),
    "one row": ("x @ y", (1, 8), (8, 12), "matmul"),
    "one column": ("x @ y", (6, 8), (8, 1), "matmul"),
    "depth one": ("x @ y", (6, 1), (1, 12), "matmul"),
    "batch in the middle": ("self.bare(x.transpose(0, 1))", (3, 2, 8), (1,), "linear"),
    "reshape before relu": ("torch.relu(self.up(x).view(3, 2, 12))", (6, 8), (1,), "linear relu"),
    "exact gelu stays outside": ("F.gelu(self.up(x))", (6, 8), (1,), "linear"),
    "coarse gelu of fp32 stays outside": ("F.gelu(self.up(x), approximate='tanh')", (6, 8), (1,), "linear"),
    "used twice": ("(lambda h: h.relu() + h)(self.up(x))", (6, 8), (1,), "linear"),
    "returned": ("(lambda h: (h, h.relu()))(self.up(x))", (6, 8), (1,), "linear"),
    "scale after bias stays outside": ("self.up(x) * 0.5", (6, 8), (1,), "linear"),
    "addend of another shape stays outside": ("self.up(x) + y", (6, 8), (6, 1), "linear"),
}

# Nothing of these is taken: cuBLASLt cannot read the operands, or the product is of another kind.
LEFT = {
    "float64": ("x.double() @ y.double()", (6, 8), (8, 12)),
    "empty": ("x @ y", (6, 0), (0, 12)),
    "no product": ("x + y", (6, 8), (6, 8)),
}


def read(body, x_shape, y_shape):
    source = MODULE.replace("BODY", body).replace("X)", f"{x_shape})").replace("Y)", f"{y_shape})")
    graph = capture(source)
    return source, graph, Gemm().match(graph, graph.nodes)


@pytest.fixture(scope="module")
def values():
    """The tensors of one module with inputs, in float64, by the value's name."""

    def of(source, graph):
        namespace = {}
        exec(source, namespace)
        torch.manual_seed(0)
        model = namespace["Model"]().double()
        inputs = [tensor.double() for tensor in namespace["get_inputs"]()]
        found = {value.name: tensor for value, tensor in zip(graph.inputs, inputs, strict=False)}
        state = model.state_dict()
        found |= {value.name: state[value.path] for value in graph.surface.state}
        return model, inputs, found

    return of


def matrix(side, found, batch):
    """[batch, rows, cols] as cuBLASLt would see it."""
    steps = (1, side.ld) if side.is_transposed else (side.ld, 1)
    storage = found[side.value.name].contiguous()
    return storage.as_strided((batch, side.rows, side.cols), (side.batch_stride, *steps), side.offset)


def computed(product, found):
    left, right = (matrix(side, found, product.batch) for side in (product.left, product.right))
    out = product.alpha * left @ right
    if product.addend:
        out = out + found[product.addend.name].reshape(out.shape)
    if product.bias:
        out = out + found[product.bias.name]
    return out.relu() if product.activation is Activation.RELU else out


@pytest.mark.parametrize(("body", "x_shape", "y_shape", "taken"), TAKEN.values(), ids=TAKEN)
def test_what_is_read_is_what_is_computed(body, x_shape, y_shape, taken, values):
    source, graph, group = read(body, x_shape, y_shape)
    assert [node.op for node in group.nodes] == taken.split()
    product = group.details
    model, inputs, found = values(source, graph)
    result = computed(product, found)
    assert math.prod(product.out.shape) == result.numel()
    if len(group.nodes) == len(graph.nodes):
        expected = model(*inputs)
        torch.testing.assert_close(result.reshape(expected.shape), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("body", "x_shape", "y_shape"), LEFT.values(), ids=LEFT)
def test_what_cublas_cannot_read_is_left(body, x_shape, y_shape):
    _, _, group = read(body, x_shape, y_shape)
    assert group is None


def test_a_linear_of_a_batch_is_one_product_of_all_rows():
    _, _, group = read("self.up(x)", (2, 3, 8), (1,))
    assert (group.details.batch, group.details.m, group.details.n, group.details.k) == (1, 6, 12, 8)


def test_weights_are_fixed_and_inputs_are_not():
    _, _, group = read("self.up(x)", (6, 8), (1,))
    assert (group.details.left.is_fixed, group.details.right.is_fixed) == (False, True)


def test_the_group_reads_each_value_once():
    _, _, group = read("x @ x.t()", (6, 8), (1,))
    assert [value.name for value in group.inputs] == ["x"]
