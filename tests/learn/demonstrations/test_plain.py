"""Plain programs: short, of several qualities, and right on the judge of the cpu device."""

import pytest

from warpsmith.agent.optimize import OptimizeConfig, open_bench
from warpsmith.core import Form, Passed
from warpsmith.device import select_device
from warpsmith.learn.answering.court import Case, Court
from warpsmith.learn.demonstrations.plain import Manner, plain_program
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.recipes.base import Declined

LAUNCHES = {
    ("flat", Manner.FUSED): 1,
    ("flat", Manner.VECTOR): 1,
    ("flat", Manner.UNFUSED): 3,
    ("broadcast", Manner.FUSED): 1,
    ("softmax", Manner.ROWS): 1,
    ("norm", Manner.ROWS): 1,
    ("total", Manner.ROWS): 1,
    ("total", Manner.UNFUSED): 3,
    ("columns", Manner.FUSED): 1,
}
DECLINED = [
    ("flat", Manner.ROWS, "by rows"),
    ("broadcast", Manner.VECTOR, "by four"),
    ("columns", Manner.ROWS, "by rows"),
    ("scan", Manner.FUSED, "cumsum"),
    ("two", Manner.FUSED, "more than one tensor"),
]


@pytest.fixture(scope="module")
def graph_of(task_of):
    graphs = {}

    def of(name, width=20):
        return graphs.setdefault((name, width), capture(task_of(name, width).source))

    return of


@pytest.mark.parametrize(("name", "manner"), LAUNCHES)
def test_a_manner_decides_how_many_kernels_there_are(graph_of, name, manner):
    candidate = plain_program(graph_of(name), manner)
    assert candidate.form is Form.LAUNCHER
    assert candidate.text("model_new.py").count("cuda_extension.") == LAUNCHES[name, manner]
    assert candidate.text("kernels/forward.cu").count("__global__") == LAUNCHES[name, manner]


@pytest.mark.parametrize(("name", "manner", "why"), DECLINED)
def test_what_a_manner_cannot_do_is_declined_with_the_reason(graph_of, name, manner, why):
    with pytest.raises(Declined, match=why):
        plain_program(graph_of(name), manner)


def test_a_row_is_read_once_a_reduction_and_once_for_the_result(graph_of):
    source = plain_program(graph_of("softmax"), Manner.ROWS).text("kernels/forward.cu")
    assert source.count("for (int j = threadIdx.x;") == 3
    assert "block_max" in source
    assert "block_sum" in source


def test_what_cannot_be_read_by_four_is_declined(graph_of):
    plain_program(graph_of("flat", 20), Manner.VECTOR)
    with pytest.raises(Declined, match="by four"):
        plain_program(graph_of("flat", 21), Manner.VECTOR)


def test_parameters_keep_the_names_of_the_reference(graph_of):
    module = plain_program(graph_of("norm"), Manner.ROWS).text("model_new.py")
    assert "self.norm = nn.Module()" in module
    assert "self.norm.weight = nn.Parameter(torch.empty(20))" in module
    assert "self.bias = nn.Parameter(torch.empty(20))" in module


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flat", "broadcast", "softmax", "norm", "total", "columns"])
def test_all_that_is_written_is_right(task_of, graph_of, name):
    programs = []
    for manner in Manner:
        try:
            programs.append(plain_program(graph_of(name), manner))
        except Declined:
            continue
    config = OptimizeConfig(device=select_device("cpu"))
    court = Court(opened=lambda task: open_bench(task, config), num_cores=1)
    (findings,) = court.judged([Case(task=task_of(name), candidates=tuple(programs))])
    assert len(findings) >= 2
    assert [finding for finding in findings if not isinstance(finding, Passed)] == []
