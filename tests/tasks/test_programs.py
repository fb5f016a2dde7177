"""The whole programs among the examples: they run small, differ by their inputs, and say their true size."""

import ast
import re
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from warpsmith.tasks import load_task

PROGRAMS = sorted((Path(__file__).parents[2] / "examples" / "programs").glob("*.py"))
NAMES = [
    "lstm",
    "mixer_layer",
    "mixture_of_experts",
    "resnet_block",
    "transformer_block",
    "unet_stage",
]
by_name = pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)


def defined(task):
    scope = {}
    exec(task.source, scope)
    return scope


def test_there_are_six():
    assert [path.stem for path in PROGRAMS] == NAMES


@by_name
def test_a_program_runs_small_and_is_no_constant(path):
    scope = defined(load_task(str(path), device_kind="cpu"))
    torch.manual_seed(1)
    model = scope["Model"](*scope["get_init_inputs"]()).eval()
    with torch.no_grad():
        one, other = model(*scope["get_inputs"]()), model(*scope["get_inputs"]())
    assert one.isfinite().all()
    assert not torch.allclose(one, other)
    for parameter in model.parameters():
        assert parameter.std() > 0, "ones or zeros would hide a parameter that is ignored"


@by_name
@pytest.mark.parametrize("scale", [1e-9, 0.011])
def test_any_scale_is_one_that_runs(path, scale):
    scope = defined(load_task(str(path), scale=scale, device_kind="cpu"))
    with torch.device("meta"):
        output = scope["Model"](*scope["get_init_inputs"]()).eval()(*scope["get_inputs"]())
    assert output.numel() > 0


@pytest.mark.slow
@by_name
def test_the_stated_traffic_and_arithmetic_are_those_of_full_size(path):
    task = load_task(str(path), scale=1.0)
    scope = defined(task)
    with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counter:
        model, inputs = scope["Model"](*scope["get_init_inputs"]()).eval(), scope["get_inputs"]()
        output = model(*inputs)
    told = ast.get_docstring(ast.parse(task.source))
    statistics = [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    tensors = (*inputs, *model.parameters(), *statistics, output)
    assert int(re.search(r"Least traffic: (\d+) bytes", told)[1]) == sum(one.nbytes for one in tensors)
    assert int(re.search(r"rithmetic[^:]*: (\d+) FLOP", told)[1]) == counter.get_total_flops()
