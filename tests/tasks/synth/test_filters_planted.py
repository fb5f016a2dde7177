"""Good tasks are kept, and each way in which a task may be bad is found and named."""

import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from warpsmith.core import Task
from warpsmith.core.audit import Kind
from warpsmith.device import select_device
from warpsmith.sandbox import pick
from warpsmith.tasks import load_task
from warpsmith.tasks.synth.filters import (
    Band,
    Checks,
    FilterConfig,
    Kept,
    Outcome,
    Reason,
    Rejected,
    StageLimits,
    filtered,
)

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.py"))
HEAD = """import os
import sys
import time
import random
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

ROWS, COLS = 48, 64
"""
LINEAR = "self.linear = nn.Linear(COLS, COLS)"
TWO = "[torch.randn(ROWS, COLS), torch.randn(ROWS, COLS)]"
LINE = "\n        "


def task(
    forward: str,
    *,
    init: str = "pass",
    inputs: str = "[torch.randn(ROWS, COLS)]",
    arguments: str = "x",
    head: str = "",
    **options: bool,
) -> Task:
    """A task of these lines."""
    source = f"""{HEAD}{head}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, {arguments}):
        {forward}


def get_init_inputs():
    return []


def get_inputs():
    return {inputs}
"""
    return Task(task_id="a task", source=source, provenance="tests", **options)


GOOD = {
    "gelu": task("return F.gelu(x)"),
    "softmax": task("return x.softmax(-1)"),
    "linear and relu": task("return F.relu(self.linear(x))", init=LINEAR),
    "residual": task("return x + torch.tanh(self.linear(x))", init=LINEAR),
    "sum of rows": task("return x.sum(0)"),
    "two inputs": task("return x * torch.sigmoid(y)", arguments="x, y", inputs=TWO),
    "two outputs": task("return x.exp(), x.sum(-1)"),
    "one of two outputs is constant": task("return x.exp(), torch.zeros_like(x)"),
    "indices": task("return x.topk(5, dim=-1)"),
    "embedding": task(
        "return self.table(x)",
        init="self.table = nn.Embedding(100, 32)",
        inputs="[torch.randint(0, 100, (ROWS, 8))]",
    ),
    "convolution": task(
        "return self.conv(x)", init="self.conv = nn.Conv2d(3, 4, 3)", inputs="[torch.randn(2, 3, 16, 16)]"
    ),
    "batch norm": task("return self.norm(x)", init="self.norm = nn.BatchNorm1d(COLS)"),
    "dropout in eval mode": task("return self.drop(x) * 2", init="self.drop = nn.Dropout(0.5)"),
    "attention": task("return F.scaled_dot_product_attention(x, x, x)", inputs="[torch.randn(2, 4, 16, 8)]"),
    "gradients": task("return F.gelu(self.linear(x))", init=LINEAR, has_backward=True),
    "batch norm in train mode": task(
        "return self.norm(x)", init="self.norm = nn.BatchNorm1d(COLS)", is_training=True
    ),
    "a cache that is filled once": task(
        f"if self.scale is None:{LINE}    self.scale = torch.linspace(1, 2, COLS){LINE}return x * self.scale",
        init="self.scale = None",
    ),
    "prints a line": task(f"print('forward'){LINE}return x.sin()"),
    "breaks the graph": task(
        f"print(x.shape){LINE}y = x.sin(){LINE}torch._dynamo.graph_break(){LINE}return y.cos()"
    ),
}

BAD = {
    "no Python": (Task(task_id="t", source="class Model(:", provenance="tests"), Reason.NOT_PYTHON),
    "null bytes": (Task(task_id="t", source="import torch\0", provenance="tests"), Reason.NOT_PYTHON),
    "a lone surrogate": (
        Task(task_id="t", source="x = '\udc80'\nModel = get_inputs = get_init_inputs = 1", provenance="t"),
        Reason.NOT_PYTHON,
    ),
    "empty": (Task(task_id="t", source="", provenance="tests"), Reason.INCOMPLETE),
    "no Model": (
        Task(task_id="t", source="def get_inputs(): ...\ndef get_init_inputs(): ...\n", provenance="tests"),
        Reason.INCOMPLETE,
    ),
    "Model is no module": (
        Task(
            task_id="t",
            source="Model = dict\ndef get_inputs():\n    return []\ndef get_init_inputs():\n    return []\n",
            provenance="tests",
        ),
        Reason.NOT_BUILT,
    ),
    "import fails": (task("return x", head="import no_such_package\n"), Reason.NOT_BUILT),
    "constructor raises": (task("return x", init="raise ValueError('no')"), Reason.NOT_BUILT),
    "get_inputs raises": (task("return x", inputs="[1 / 0]"), Reason.NO_INPUTS),
    "get_inputs gives no list": (task("return x", inputs="torch.randn(3)"), Reason.NO_INPUTS),
    "forward raises": (task("return x @ x"), Reason.FORWARD_RAISES),
    "wrong number of inputs": (task("return x", inputs=TWO), Reason.FORWARD_RAISES),
    "forward raises later": (
        task(
            f"self.n += 1{LINE}if self.n > 1:{LINE}    raise ValueError('again'){LINE}return x.sin()",
            init="self.n = 0",
        ),
        Reason.FORWARD_RAISES,
    ),
    "never ends recursion": (task("return self.forward(x)"), Reason.FORWARD_RAISES),
    "returns a sparse tensor": (task("return x.to_sparse()"), Reason.NO_ANSWER),
    "returns no numbers": (task("return x.to('meta')"), Reason.NO_ANSWER),
    "returns a number": (task("return float(x.sum())"), Reason.NO_ANSWER),
    "returns an object": (task("return x.shape, object()"), Reason.NO_ANSWER),
    "returns nothing": (task("return None"), Reason.NO_ANSWER),
    "returns no element": (task("return x[:0]"), Reason.NO_ANSWER),
    "NaN": (task("return x.log()"), Reason.NOT_FINITE),
    "infinite": (task("return (x * 1000).exp()"), Reason.NOT_FINITE),
    "random": (task("return x + torch.randn_like(x)"), Reason.RANDOM),
    "dropout in train mode": (
        task("return self.drop(x)", init="self.drop = nn.Dropout(0.5)", is_training=True),
        Reason.RANDOM,
    ),
    "functional dropout": (task("return F.dropout(x, 0.5)"), Reason.RANDOM),
    "randomness from the system": (
        task("return x + int.from_bytes(os.urandom(1), 'big')"),
        Reason.UNSTABLE,
    ),
    "the time of day": (task("return x + time.time_ns() % 1009"), Reason.UNSTABLE),
    "randomness of Python's": (task("return x * random.random()"), Reason.RANDOM),
    "randomness of numpy's": (task("return x * float(np.random.rand())"), Reason.RANDOM),
    "randomness seeded inside": (
        task(f"torch.manual_seed(0){LINE}return x + torch.randn_like(x)"),
        Reason.RANDOM,
    ),
    "a generator of its own": (
        task(f"g = torch.Generator().manual_seed(3){LINE}return x + torch.randn(x.shape, generator=g)"),
        Reason.RANDOM,
    ),
    "inputs seeded inside": (
        task("return x.sin()", inputs="[torch.manual_seed(0) and torch.randn(ROWS, COLS)]"),
        Reason.SEEDS,
    ),
    "weights seeded inside": (
        task("return self.linear(x)", init=f"torch.manual_seed(0){LINE}{LINEAR}"),
        Reason.SEEDS,
    ),
    "hidden state": (
        task(f"self.n = self.n + 1{LINE}return x + self.n", init="self.n = 0"),
        Reason.KEEPS_STATE,
    ),
    "state that matters later": (
        task(f"self.n += 1{LINE}return x.sin() * (2 if self.n > 500 else 1)", init="self.n = 0"),
        Reason.KEEPS_STATE,
    ),
    "state in a buffer": (
        task(
            f"self.seen += x.mean(){LINE}return x.sin()", init="self.register_buffer('seen', torch.zeros(()))"
        ),
        Reason.KEEPS_STATE,
    ),
    "state in a list": (task(f"SEEN.append(1){LINE}return x.sin()", head="SEEN = []\n"), Reason.KEEPS_STATE),
    "another default dtype": (
        task("return x.sin()", head="torch.set_default_dtype(torch.float64)\n"),
        Reason.CHANGES_SETTINGS,
    ),
    "other settings in forward": (
        task(f"torch.use_deterministic_algorithms(True){LINE}return x.sin()"),
        Reason.CHANGES_SETTINGS,
    ),
    "cannot be copied": (
        task("return x.sin()", init="import threading; self.lock = threading.Lock()"),
        Reason.UNEXAMINABLE,
    ),
    "breaks torch": (task("return x.sin()", head="torch.isfinite = None\n"), Reason.UNEXAMINABLE),
    "changes its input": (task("return x.mul_(2)"), Reason.CHANGES_INPUTS),
    "zeros": (task("return x - x"), Reason.CONSTANT),
    "a constant": (task("return x * 0 + 3"), Reason.CONSTANT),
    "nearly a constant": (task("return 1000 + x * 1e-6"), Reason.CONSTANT),
    "softmax over one": (task("return x.unsqueeze(-1).softmax(-1)"), Reason.CONSTANT),
    "ignores its input": (
        task("return torch.arange(64.0) * self.weight", init="self.weight = nn.Parameter(torch.randn(64))"),
        Reason.INDISTINGUISHABLE,
    ),
    "its inputs are fixed": (
        task("return x.sin()", inputs="[torch.linspace(0, 1, 3000)]"),
        Reason.INDISTINGUISHABLE,
    ),
    "no inputs": (
        task(
            "return self.w.sin()", arguments="", inputs="[]", init="self.w = nn.Parameter(torch.randn(3000))"
        ),
        Reason.INDISTINGUISHABLE,
    ),
    "the identity": (task("return x.clone()"), Reason.COPIES_INPUT),
    "drowned by its weights": (
        task("return self.w + x * 1e-7", init="self.w = nn.Parameter(torch.randn(COLS))"),
        Reason.INDISTINGUISHABLE,
    ),
    "does not compile": (
        task("return x.view(7) if torch.compiler.is_compiling() else x.sin()"),
        Reason.NOT_COMPILED,
    ),
    "compiles to something else": (
        task("return x.sin() * (2 if torch.compiler.is_compiling() else 1)"),
        Reason.COMPILED_DIFFERS,
    ),
    "too fast": (task("return x.neg()", inputs="[torch.randn(1)]"), Reason.TOO_FAST),
    "too slow": (task(f"for _ in range(40):{LINE}    x = x.sin(){LINE}return x"), Reason.TOO_SLOW),
    "too large for its budget": (
        task("return x.sin()", inputs="[torch.randn(17, 1 << 20)]"),
        Reason.TOO_LARGE,
    ),
    "larger than any machine": (task("return x.sin()", inputs="[torch.randn(1 << 45)]"), Reason.TOO_LARGE),
    "larger than one can say": (task("return x.sin()", inputs="[torch.randn(1 << 62)]"), Reason.TOO_LARGE),
    "takes all memory": (
        task("return x", inputs="[torch.ones(1 << 26) for _ in range(64)]"),
        Reason.TOO_LARGE,
    ),
    "hangs at import": (task("return x", head="while True: pass\n"), Reason.HANGS),
    "sleeps": (task(f"time.sleep(1000){LINE}return x"), Reason.HANGS),
    "exits": (task("sys.exit(0)"), Reason.CRASHES),
    "ends hard": (task("os._exit(0)"), Reason.CRASHES),
    "interrupts": (task("raise KeyboardInterrupt"), Reason.CRASHES),
    "raises what cannot be said": (
        task("raise Unsaid", head="class Unsaid(Exception):\n    def __str__(self): raise Unsaid\n"),
        Reason.CRASHES,
    ),
    "closes its pipes": (task(f"os.closerange(3, 100){LINE}return x.sin()"), Reason.CRASHES),
    "fills the disk": (
        task(f"for n in range(3):{LINE}    open(str(n), 'wb').write(b'x' * (1 << 29)){LINE}return x.sin()"),
        Reason.CRASHES,
    ),
    "kills itself": (task("os.kill(os.getpid(), 9)"), Reason.CRASHES),
    "kills its parent": (task(f"os.kill(os.getppid(), 9){LINE}time.sleep(1000)"), Reason.CRASHES),
    "reads from nowhere": (
        task(f"import ctypes{LINE}ctypes.string_at(0){LINE}return x"),
        Reason.CRASHES,
    ),
    "forks for ever": (
        task(f"for _ in range(1000):{LINE}    os.fork() or time.sleep(1000){LINE}return x"),
        Reason.CRASHES,
    ),
    "prints 100 MB": (
        task("return x.sin()", head="for _ in range(100):\n    print('x' * (1 << 20))\n"),
        Reason.FLOODS,
    ),
    "writes into the pipe of answers": (
        task(
            "return x",
            head="def say(fd):\n    try:\n        os.write(fd, b'{}\\n')\n    except OSError:\n        pass\n"
            "for fd in range(3, 99):\n    say(fd)\n",
        ),
        Reason.CRASHES,
    ),
}
SLOW = (
    "hangs at import",
    "sleeps",
    "takes all memory",
    "kills its parent",
    "forks for ever",
    "fills the disk",
)


def config() -> FilterConfig:
    checks = Checks(
        band=Band(least_us=3.001, most_us=100.0),  # modelled, so the same on every machine
        limits=StageLimits(run_s=20.0),
        memory_bytes=64 << 20,
        host_bytes=3 << 30,
        compile_backend="aot_eager",  # compiles no C++: the checks are the same
    )
    return FilterConfig(device=select_device("cpu"), sandbox=pick(), workers=2, checks=checks)


def planted(names: Iterable[str]) -> list[Task]:
    known = GOOD | {name: task for name, (task, _) in BAD.items()}
    return [replace(known[name], task_id=name) for name in names]


def outcomes_of(tasks: list[Task], folder: Path) -> dict[str, Outcome]:
    return {outcome.task_id: outcome for outcome in filtered(tasks, config(), folder).outcomes}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Of everything that is quick, in one run: what is bad does not harm what is beside it."""
    examples = [load_task(str(path), scale=1 / 1024, device_kind="cpu") for path in EXAMPLES]
    tasks = planted(name for name in (*GOOD, *BAD) if name not in SLOW)
    return outcomes_of([*tasks, *examples], tmp_path_factory.mktemp("quick"))


@pytest.fixture(scope="module")
def slow_outcomes(tmp_path_factory):
    return outcomes_of(planted(SLOW), tmp_path_factory.mktemp("slow"))


@pytest.mark.parametrize("name", [*GOOD, *(path.stem for path in EXAMPLES)])
def test_a_good_task_is_kept(name, outcomes):
    assert isinstance(outcomes[name], Kept), outcomes[name]


def assert_rejected(outcome: Outcome, reason: Reason) -> None:
    assert isinstance(outcome, Rejected), outcome
    assert outcome.reason is reason, outcome
    assert outcome.evidence


@pytest.mark.parametrize("name", [name for name in BAD if name not in SLOW])
def test_a_bad_task_is_rejected_for_what_is_wrong_with_it(name, outcomes):
    assert_rejected(outcomes[name], BAD[name][1])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_what_hangs_hoards_or_kills_is_rejected(name, slow_outcomes):
    assert_rejected(slow_outcomes[name], BAD[name][1])


def test_a_kept_task_tells_what_was_found(outcomes):
    facts = outcomes["linear and relu"].facts
    assert facts.is_time_modelled
    assert facts.eager_us > 3
    assert facts.inputs == ("float32[48, 64]",)
    assert facts.outputs == ("float32[48, 64]",)
    assert facts.num_launches == 2
    assert facts.num_graph_breaks == 0
    assert facts.told_apart > 100
    assert facts.compile_error <= facts.error_allowed
    assert set(facts.stage_s) == {"run", "compile", "look", "repeat", "tell", "audit", "agree"}


def test_what_is_suspicious_is_noted_and_kept(outcomes):
    kinds = {finding.kind for finding in outcomes["one of two outputs is constant"].facts.findings}
    assert Kind.ZEROS in kinds


def test_a_graph_break_is_counted(outcomes):
    assert outcomes["breaks the graph"].facts.num_graph_breaks > 0


@pytest.mark.slow
def test_the_default_compiler_works_here(tmp_path):
    checks = replace(config().checks, compile_backend="inductor")
    funnel = filtered(planted(["softmax"]), replace(config(), checks=checks), tmp_path)
    assert len(funnel.kept) == 1


CHILD = """
import importlib.util, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("planted", sys.argv[1])
tests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tests)
tests.filtered(tests.planted(tests.FEW), tests.config(), Path(sys.argv[2]))
"""
FEW = ("gelu", "zeros", "softmax", "random", "sum of rows", "NaN", "residual", "the identity", "two inputs")


@pytest.mark.slow
def test_a_filter_that_is_killed_leaves_no_process_and_goes_on(tmp_path):
    folder = tmp_path / "killed"
    child = subprocess.Popen([sys.executable, "-c", CHILD, __file__, str(folder)])
    path = folder / "outcomes.jsonl"
    until = time.monotonic() + 240
    while time.monotonic() < until and not (path.exists() and path.read_bytes().count(b"\n") > 3):
        time.sleep(0.02)
    helpers = psutil.Process(child.pid).children(recursive=True)
    child.kill()
    child.wait()
    _, alive = psutil.wait_procs(helpers, timeout=30)
    assert not alive
    resumed = filtered(planted(FEW), config(), folder)
    whole = filtered(planted(FEW), config(), tmp_path / "whole")
    assert resumed.num_resumed >= 3
    assert resumed.by_reason == whole.by_reason
    assert [outcome.task_id for outcome in resumed.kept] == [outcome.task_id for outcome in whole.kept]
