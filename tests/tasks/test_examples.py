"""The examples run on two CPU cores, and their docstrings tell the truth about their size."""

import ast
import re
import time
from pathlib import Path

import pytest
import torch

from warpsmith.tasks import load_task

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
NAMES = {
    "cross_entropy",
    "gated_silu",
    "masked_softmax",
    "mlp_relu",
    "residual_layernorm",
    "rmsnorm_gelu",
}
MAX_ELEMENTS = 4.2e6


def defined(task):
    scope = {}
    exec(task.source, scope)
    return scope


def stated(task, what):
    return int(re.search(rf"Least {what}: (\d+)", ast.get_docstring(ast.parse(task.source)))[1])


def test_there_are_six():
    assert {path.stem for path in EXAMPLES} == NAMES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_small_and_is_no_constant(path):
    scope = defined(load_task(str(path), device_kind="cpu"))
    torch.manual_seed(1)
    model = scope["Model"](*scope["get_init_inputs"]()).eval()
    begun_s = time.process_time()
    outputs = []
    with torch.no_grad():
        for _ in range(2):
            inputs = scope["get_inputs"]()
            assert sum(x.numel() for x in inputs) <= MAX_ELEMENTS
            outputs.append(model(*inputs))
    assert time.process_time() - begun_s < 5
    assert all(output.isfinite().all() for output in outputs)
    assert not torch.allclose(*outputs)
    for parameter in model.parameters():
        assert parameter.std() > 0, "ones or zeros would hide a parameter that is ignored"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("scale", [1e-9, 3 / 32768, 0.011])
def test_any_scale_has_at_least_one_row(path, scale):
    scope = defined(load_task(str(path), scale=scale, device_kind="cpu"))
    with torch.device("meta"):
        output = scope["Model"](*scope["get_init_inputs"]())(*scope["get_inputs"]())
    assert output.numel() > 0


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_stated_traffic_and_arithmetic_are_those_of_full_size(path):
    task = load_task(str(path), scale=1.0)
    scope = defined(task)
    with torch.device("meta"):
        model, inputs = scope["Model"](*scope["get_init_inputs"]()), scope["get_inputs"]()
        output = model(*inputs)
    rows = inputs[0].shape[0]
    weights = [parameter for parameter in model.parameters() if parameter.ndim == 2]
    assert stated(task, "traffic") == sum(t.nbytes for t in (*inputs, *model.parameters(), output))
    assert stated(task, "arithmetic") == sum(2 * rows * weight.numel() for weight in weights)
    assert stated(task, "traffic") > 5 * 60e6, "a cache would hold it"
