"""Sub-tasks: a contract says what their tensors are, a template is a program that lacks its kernels."""

import ast
from dataclasses import replace

import pytest

from warpsmith.core import Candidate, Completed, Ending, InfraError, Passed, Task, Wrong
from warpsmith.core.codec import from_json, to_json
from warpsmith.device import select_device
from warpsmith.judge import Judge
from warpsmith.sandbox import pick
from warpsmith.tasks.scale import with_scale
from warpsmith.tasks.synth.skills import Left, Role, SubTask
from warpsmith.tasks.synth.skills.helper import looked
from warpsmith.tasks.synth.skills.looking import looking
from warpsmith.tasks.synth.skills.protocol import Answer, Call, NoLook
from warpsmith.tasks.synth.skills.sub_tasks import Cutting, sub_tasks
from warpsmith.toolchain import Store, Toolchain

SOURCE = """import torch
from torch import nn

SCALE = 1.0
ROWS = 64
WIDTH = 96


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU())
        self.norm = nn.BatchNorm1d(2 * width)

    def forward(self, x, index):
        x = torch.exp(torch.gather(x, 1, index))
        x = self.norm(self.net(x))
        return torch.cat([x, x], dim=0).half()


def get_init_inputs():
    return [WIDTH]


def get_inputs():
    rows = max(2, int(ROWS * SCALE))
    return [torch.randn(rows, WIDTH), torch.randint(WIDTH, (rows, WIDTH))]
"""
TASK = Task(task_id="whole", source=SOURCE, provenance="tests")


class Here:
    """A sandbox that is none, and a guest that answers here; after `num_asked` questions it is gone."""

    def __init__(self, num_asked=10**9, is_mute=False):
        self.num_left, self.is_mute, self.num_started = num_asked, is_mute, 0

    def start(self, command):
        self.num_started += 1
        return self

    def ask(self, request, *, limit_s, is_timed=False):
        self.num_left -= 1
        if self.num_left < 0:
            return self.close()
        call = from_json(Call, request.decode())
        answer = NoLook(why="mute") if self.is_mute else looked(call.request.source)
        return to_json(Answer(nonce=call.nonce, answer=answer)).encode()

    def close(self):
        return Completed(ending=Ending.SIGNALLED, exit_code=-9, stdout="", stderr="", wall_s=0.0)


def made_of(*tasks, **cutting):
    return list(sub_tasks(tasks, Cutting(sandbox=Here(), **cutting)))


@pytest.fixture(scope="module")
def found():
    return {one.operators: one for one in made_of(TASK, most=99) if isinstance(one, SubTask)}


def told(sub_task, role):
    return [(one.name, one.shape, one.dtype) for one in sub_task.contract.of(role)]


def test_a_contract_says_what_every_tensor_is(found):
    sub_task = found["exp", "linear", "relu", "batchnorm"]
    assert told(sub_task, Role.INPUT) == [("part", (64, 96), "float32")]
    assert told(sub_task, Role.PARAMETER) == [
        ("net.0.weight", (192, 96), "float32"),
        ("net.0.bias", (192,), "float32"),
        ("norm.weight", (192,), "float32"),
        ("norm.bias", (192,), "float32"),
        ("norm.running_mean", (192,), "float32"),
        ("norm.running_var", (192,), "float32"),
    ]
    assert told(sub_task, Role.OUTPUT) == [("out", (64, 192), "float32")]
    assert sub_task.contract.launcher == (
        "int launch_exp_linear_relu_batchnorm(const float* part, const float* net_0_weight, "
        "const float* net_0_bias, const float* norm_weight, const float* norm_bias, "
        "const float* norm_running_mean, const float* norm_running_var, float* out, "
        "long long part_size0, long long part_size1, cudaStream_t stream)"
    )


def test_integers_and_halves_have_their_types(found):
    launcher = found["gather",].contract.launcher
    assert "const long long* index" in launcher
    half = found["cat", "half"]
    assert "__half* out" in half.contract.launcher
    assert "#include <cuda_fp16.h>" in half.template.text("kernels/cat_half.cu")


def test_a_template_is_a_program_of_the_same_constructor_and_names(found):
    sub_task = found["linear", "relu", "batchnorm"]
    text = sub_task.template.text("model_new.py")
    ast.parse(text)
    assert "def __init__(self, width):" in text
    assert "self.net = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU())" in text
    assert "cuda_extension.launch_linear_relu_batchnorm(x, self.net[0].weight, self.net[0].bias" in text
    assert "torch.empty((x.shape[0], 192), dtype=torch.float32, device=x.device)" in text


def test_a_size_that_grows_is_told_by_an_input_s(found):
    assert "torch.empty((2 * x.shape[0], x.shape[1])" in found["cat",].template.text("model_new.py")


def test_the_same_seed_takes_the_same_parts_and_no_more_than_asked():
    two = made_of(TASK, most=2)
    assert len([one for one in two if isinstance(one, SubTask)]) == 2
    assert made_of(TASK, most=2) == two
    assert made_of(TASK, most=2, seed=1) != two


def test_a_sub_task_keeps_how_its_whole_is_judged_and_says_where_it_is_from(found):
    (one,) = [one for one in made_of(replace(TASK, is_training=True), most=1) if isinstance(one, SubTask)]
    assert one.task.is_training
    assert one.origin == replace(TASK, is_training=True).digest
    assert all("taken out of whole (tests)" in one.task.provenance for one in found.values())


LAST = "torch.cat([x, x], dim=0).half()"
NET = "nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU())"
LEFT = {
    "only views": {LAST: "x.view(-1)"},
    "no launcher takes complex64": {LAST: "x.to(torch.complex64)"},
    "something else than one tensor": {LAST: "torch.chunk(x, 2)"},
    "one number, or none": {LAST: "torch.sum(x)"},
    "grows otherwise than its inputs": {LAST: "torch.zeros(x.size(0) ** 2) + x.sum()"},
    "RuntimeError": {"torch.exp(": "torch.mm(torch.ones(3, 3), "},
    "nonzero": {"torch.exp(": "torch.nonzero("},
    "no name in Python": {
        NET: 'nn.ModuleDict({"a-b": nn.ReLU(), "b-c": nn.PReLU()})',
        "net(x)": 'net["b-c"](x)',
    },
    "made by collections": {
        "import torch\n": "import torch\nfrom collections import OrderedDict\n",
        NET: "nn.Sequential(OrderedDict(a=nn.Linear(width, 2 * width)))",
    },
}


@pytest.mark.parametrize("says", LEFT)
def test_a_part_that_no_launcher_can_be_given_is_left_with_a_reason(says):
    source = SOURCE
    for old, new in LEFT[says].items():
        assert old in source
        source = source.replace(old, new)
    left = [one.why for one in made_of(replace(TASK, source=source), most=99) if isinstance(one, Left)]
    assert any(says in why for why in left), left


def test_a_whole_that_is_no_straight_line_is_left_and_the_next_one_taken():
    branch = replace(
        TASK,
        source=SOURCE.replace(
            "        x = self.norm", "        if 1:\n            pass\n        x = self.norm"
        ),
    )
    first, *rest = made_of(branch, TASK, most=1)
    assert isinstance(first, Left)
    assert "is a If" in first.why
    assert isinstance(rest[-1], SubTask)


def test_a_task_that_ends_its_process_costs_its_own_parts_alone():
    sandbox = Here(num_asked=3)
    found = list(sub_tasks([TASK], Cutting(sandbox=sandbox, most=99)))
    assert any(isinstance(one, SubTask) for one in found)
    assert {one.why for one in found if isinstance(one, Left)} == {
        "its process ended instead of answering (signalled)"
    }


@pytest.mark.parametrize("sandbox", [Here(num_asked=0), Here(is_mute=True)], ids=["dead", "mute"])
def test_a_helper_that_does_not_work_is_our_failure_and_no_task_s(sandbox):
    with pytest.raises(InfraError, match="helper that looks at parts of tasks"):
        list(sub_tasks([TASK], Cutting(sandbox=sandbox)))


@pytest.mark.slow
def test_strangers_run_in_a_process_of_their_own():
    hostile = {
        "it exits": "import os\nos._exit(0)",
        "it prints": "print('x' * 10**7)",
        "it raises": "raise BaseException",
        "it is none": "Model = 1",
        "it recurses": "def get_inputs(): return get_inputs()\nModel = None",
    }
    answers = {}
    for name, source in hostile.items():
        with looking(pick("process")) as look:
            answers[name] = look(source)
    assert all(isinstance(answer, NoLook) for answer in answers.values()), answers


KERNEL = """__global__ void apply(const float* x, float* y, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = expf(x[i]);
}

"""
LAUNCH = """long long n = part_size0 * part_size1;
  apply<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(part, out, n);
"""


@pytest.mark.slow
def test_a_template_is_wrong_as_it_stands_and_right_once_it_is_filled_in(found, tmp_path):
    sub_task = found["exp",]
    source, scale = with_scale(sub_task.task.source, "exp", 0.25, "cpu")
    task = replace(sub_task.task, source=source, scale=scale)
    device, sandbox = select_device("cpu"), pick("process")
    files = dict(sub_task.template.files)
    kernel = files["kernels/exp.cu"].replace("// To be filled in", LAUNCH + "  // Filled in")
    filled = {**files, "kernels/exp.cu": kernel.replace('extern "C"', KERNEL + 'extern "C"')}
    toolchain = Toolchain(device, Store(tmp_path), sandbox)
    with Judge(task, device=device, toolchain=toolchain, sandbox=sandbox) as judge:
        assert isinstance(judge.verify(sub_task.template), Wrong)
        assert isinstance(judge.verify(Candidate.of(filled)), Passed)
