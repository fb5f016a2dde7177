"""What the oracle finds out about a task: whether it can be judged, what it does, what bounds it."""

import pytest
import torch

from warpsmith.core import TaskError, Tolerance
from warpsmith.judge.clock.model import Unit, Work
from warpsmith.judge.oracle.examination import examine
from warpsmith.judge.oracle.record import record, touched_bytes
from warpsmith.judge.oracle.reference import Reference, TaskProblem
from warpsmith.judge.protocol import Open

TASK = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, *arguments):
        super().__init__()
        {init}

    def forward(self, x):
        {forward}


def get_init_inputs():
    return {arguments}


def get_inputs():
    return {inputs}
"""


def task(forward="return x.sin()", *, init="pass", arguments="[]", inputs="[torch.randn(4, 8)]"):
    text = TASK.replace("{forward}", forward).replace("{init}", init)
    return text.replace("{arguments}", arguments).replace("{inputs}", inputs)


@pytest.fixture
def examined(tmp_path):
    """Examines a task's source on the CPU."""

    def examine_source(source, num_inputs=2):
        path = tmp_path / "reference.py"
        path.write_text(source)
        request = Open(
            source=path,
            folder=tmp_path,
            device="cpu",
            seed=7,
            num_inputs=num_inputs,
            tolerance=Tolerance(),
        )
        with torch.no_grad():
            return examine(Reference(path, "cpu", 7), request)

    return examine_source


UNUSABLE = {
    "no Model": (task().replace("class Model", "class Modell"), "defines no Model; .* defines class Model"),
    "nothing": ("", "defines no Model and no get_inputs and no get_init_inputs"),
    "not Python": ("def", "cannot be imported: SyntaxError"),
    "import fails": (
        "import no_such_module",
        "cannot be imported: ModuleNotFoundError.*no_such_module.*line 1",
    ),
    "no module": (
        task().replace("(nn.Module)", "").replace("super().__init__()", ""),
        "no torch.nn.Module; derive",
    ),
    "constructor": (task(arguments="[1]").replace("*arguments", ""), "raises: TypeError: .*__init__.*"),
    "arguments": (task(arguments="[nn.GELU()]"), "get_init_inputs returns a GELU; it may return tensors"),
    "no list of arguments": (task(arguments="3"), "get_init_inputs returns a int; return a list"),
    "no list of inputs": (task(inputs="torch.ones(3)"), "get_inputs returns a Tensor; return a list"),
    "inputs raise": (task(inputs="[torch.randn(-1)]"), "get_inputs raises: RuntimeError: .*negative"),
    "inputs do not fit": (
        task(inputs="[torch.ones(2), torch.ones(2)]"),
        "own inputs: TypeError.*make get_inputs fit",
    ),
    "forward raises": (task("return x @ x"), r"on its own inputs: RuntimeError: mat1 and mat2.*\(line 12\)"),
    "returns none": (task("return None"), "returns no tensor"),
    "returns foreign": (task("return {x}"), "returns a set; return tensors"),
    "not finite": (task("return x / 0 * 0"), "NaN or infinite everywhere"),
    "random": (task("return x + torch.rand_like(x)"), "draws random numbers in forward"),
    "dropout": (task("return nn.functional.dropout(x)"), "draws random numbers in forward"),
    "stateful": (
        task("self.n = getattr(self, 'n', 0) + 1; return x + self.n"),
        "different answers for the same input",
    ),
    "all zeros": (task("return torch.relu(-x.abs())"), "answer of zeros would pass"),
    "in place": (task("return x.mul_(2)"), "changes its own inputs; .*x.clone"),
}


@pytest.mark.parametrize(("source", "says"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_task_that_cannot_be_judged_says_what_to_change(examined, source, says):
    with pytest.raises(TaskProblem, match=says) as raised:
        examined(source)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "source",
    [
        task(),
        task("return self.drop(x).sin()", init="self.drop = nn.Dropout(0.5)"),
        task("return self.norm(x)", init="self.norm = nn.BatchNorm1d(8)"),
        task("return x.argmax(-1), {'a': [x.sum(), None, 3, 0.5]}"),
        task("return x.masked_fill(x > 0, float('-inf'))"),
        task("return x.to(torch.complex64) * 1j"),
        task("return x.exp()", inputs="[torch.randn(8, 4).t()]"),
        task("return x.exp().to(torch.bfloat16)"),
        task("return torch.relu(x)", inputs="[torch.randn(4, 8, dtype=torch.float16)]"),
    ],
)
def test_a_task_that_can_be_judged_is_let_through(examined, source):
    examination = examined(source)
    assert len(examination.cases) == 2
    assert all(bound.allowed >= bound.reference_error for bound in examination.bounds)


def test_input_sets_differ_and_weights_do_not(examined):
    first, second = examined(task()).cases
    assert not torch.equal(first.inputs[0], second.inputs[0])


def test_constants_made_in_forward_are_double_in_the_truth(examined):
    examination = examined(task("return x * torch.full((8,), 0.1) + torch.ones(8) / 3"))
    assert examination.has_truth
    assert examination.bounds[0].reference_error < 1e-6


def test_a_reference_that_insists_on_its_dtype_has_no_truth(examined):
    examination = examined(task("return x @ torch.ones(8, 2, dtype=torch.float32)"))
    assert not examination.has_truth
    assert examination.bounds[0].allowed == pytest.approx(1024 * 2**-23)


def test_a_double_reference_is_its_own_truth(examined):
    assert not examined(task(inputs="[torch.randn(4, 8, dtype=torch.float64)]")).has_truth


def test_an_unusable_task_is_named_when_its_judge_is_entered(in_process):
    with pytest.raises(TaskError, match=r"^a task: the task defines no Model"), in_process("x = 1"):
        pass


# --- the record ---


def recorded(call, *sources):
    with torch.no_grad():
        return record(call, list(sources))


def names(done):
    return [launch.name for launch in done.launches]


X = torch.randn(16, 32)
BYTES = X.numel() * 4


def test_views_and_fresh_memory_are_no_launches():
    done = recorded(lambda: X.view(-1).reshape(32, 16).t()[3:].unsqueeze(0).expand(2, -1, -1).detach(), X)
    assert names(done) == []
    assert (done.read_bytes, done.written_bytes) == (0, 0)


def test_an_operator_moves_what_it_reads_and_writes():
    done = recorded(lambda: torch.relu(X + 1), X)
    assert names(done) == ["add", "relu"]
    assert [launch.num_bytes for launch in done.launches] == [2 * BYTES, 2 * BYTES]
    assert (done.read_bytes, done.written_bytes) == (BYTES, BYTES)
    assert done.launches[0].writes == done.launches[1].reads


def test_an_expanded_tensor_is_read_once():
    row = torch.randn(32)
    done = recorded(lambda: X * row.expand(16, 32), X, row)
    assert done.launches[0].num_bytes == 2 * BYTES + 128
    assert touched_bytes(row.expand(16, 32)) == 128


def test_a_table_is_read_where_it_is_looked_up():
    table = torch.randn(1000, 8)
    index = torch.tensor([3, 5])
    done = recorded(lambda: torch.nn.functional.embedding(index, table), table, index)
    assert done.read_bytes == 64 + 16


def test_unused_inputs_are_not_read():
    assert recorded(lambda: X + 1, X, torch.randn(100)).read_bytes == BYTES


def test_a_product_is_a_library_call_with_its_flops():
    linear = torch.nn.Linear(32, 8)
    done = recorded(lambda: torch.relu(linear(X)), X, *linear.parameters())
    product, relu = done.launches
    assert (product.flops, product.work, product.unit) == (2 * 16 * 32 * 8, Work.LIBRARY, Unit.FP32)
    assert (relu.flops, relu.work) == (0, Work.FUSIBLE)


def test_convolutions_run_in_tf32_and_half_products_on_tensor_cores():
    convolution = torch.nn.Conv2d(2, 3, 3)
    done = recorded(lambda: convolution(torch.ones(1, 2, 8, 8)))
    assert done.launches[-1].unit is Unit.TF32
    half = recorded(lambda: X.bfloat16() @ X.t().bfloat16(), X)
    assert half.launches[-1].unit is Unit.BF16


def test_an_in_place_operator_writes_where_it_reads():
    done = recorded(lambda: (X + 1).add_(1), X)
    assert done.launches[1].reads == done.launches[1].writes == done.launches[0].writes
