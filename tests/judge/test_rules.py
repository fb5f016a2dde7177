"""Each rule rejects what it names, and an honest program breaks none."""

import pytest

from warpsmith.core import Candidate, Passed, Rejected
from warpsmith.judge.gates.rules import RULES, breach

MODULE = """import math
import cuda_extension
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, cols=8):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(cols))
        {init}

    def forward(self, x):
        {forward}
        y = torch.empty_like(x)
        cuda_extension.scaled(x, self.weight, y, x.numel(), x.shape[1])
        return y
"""


def module(forward="pass", init="pass", head=""):
    return head + MODULE.replace("{forward}", forward).replace("{init}", init)


def judged(text):
    return breach(Candidate.of({"model_new.py": text, "kernels/a.cu": "// kernels"}))


BREACHES = {
    "syntax": (module("x = = 1"), module("x = (")[:-30], "\0", "class ModelNew:\n  def f(:\n"),
    "model": ("import torch\n", "def ModelNew(): pass\n", "class Model: pass\n"),
    "import": (
        module(head="import os\n"),
        module(head="import sys\n"),
        module(head="from subprocess import run\n"),
        module(head="import ctypes\n"),
        module("import importlib"),
        module(head="from . import other\n"),
        module(head="import numpy as np\n"),
        module(head="import warpsmith\n"),
    ),
    "builtin": (
        module("open('/etc/passwd')"),
        module("exec('1')"),
        module("eval('1')"),
        module("__import__('os')"),
        module("f = open"),
        module("__builtins__['open']"),
        module("globals()['x']"),
    ),
    "hidden": (
        module("().__class__.__base__.__subclasses__()"),
        module("self.forward.__globals__"),
        module("getattr(torch, 'mat' + 'mul')"),
        module("getattr(x, name)"),
        module("getattr(x, '__dict__')"),
        module("x.__dict__"),
    ),
    "torch-function": (
        module("torch.matmul(x, x)"),
        module("torch.nn.functional.relu(x)"),
        module("nn.functional.relu(x)"),
        module("F.relu(x)", head="import torch.nn.functional as F\n"),
        module("F.relu(x)", head="from torch.nn import functional as F\n"),
        module("mm(x, x)", head="from torch import mm\n"),
        module("t.softmax(x, 1)", head="import torch as t\n"),
        module("torch.ops.aten.mm(x, x)"),
        module("f = torch.relu"),
        module("getattr(torch, 'relu')(x)"),
        module("(lambda z: torch.exp(z))(x)"),
        module("torch.cuda.Stream()"),
        module(init="self.f = torch.compile(nn.ReLU())"),
        module(init="torch.backends.cuda.matmul.allow_tf32 = True"),
        module(init="self.f = lambda z: torch.exp(z)"),
        module(head="from torch.utils.cpp_extension import load_inline\n", init="load_inline(name='a')"),
    ),
    "torch-method": (
        module("x.matmul(x)"),
        module("x.view(-1).sum()"),
        module("self.weight.softmax(0)"),
        module("x.mean(-1, keepdim=True)"),
        module("[z.exp() for z in x]"),
        module("getattr(x, 'rsqrt')()"),
    ),
    "matmul": (module("x @ self.weight"), module("z = x.t() @ x")),
}


@pytest.mark.parametrize(
    ("rule", "text"), [(rule, text) for rule, texts in BREACHES.items() for text in texts]
)
def test_a_breach_is_rejected_by_its_rule(rule, text):
    verdict = judged(text)
    assert isinstance(verdict, Rejected), text
    assert verdict.rule == rule
    assert verdict.where.startswith("model_new.py:")


def test_every_rule_has_a_breach_in_this_file():
    assert {rule.name for rule in RULES} | {"syntax"} == set(BREACHES)


def test_a_breach_is_told_with_its_line_and_what_is_allowed():
    verdict = judged(module("x = torch.matmul(x, x)"))
    assert verdict.where == "model_new.py:14"
    assert "torch.empty_like" in verdict.message


HONEST = {
    "an argument named as torch names its own": """
import cuda_extension
import torch


class ModelNew(torch.nn.Module):
    def forward(self, input):
        y = torch.empty_like(input)
        cuda_extension.gelu(input, y, input.numel())
        return y
""",
    "plain": module(),
    "views": module("x = x.contiguous().view(-1, 8).reshape(-1, 8).transpose(0, 1).permute(1, 0)[..., None]"),
    "more views": module(
        "a, b = x.chunk(2, dim=1); c = x.split(4); d = x.unsqueeze(0).squeeze(0).expand(2, 3)"
    ),
    "shapes": module("rows = math.prod(x.shape[:-1]) // 2 ** 3 + x.size(-1) % 7; n = max(1, min(rows, 5))"),
    "sums of shapes": module("n = sum(x.shape); m = [n * i for i in range(3)]; m.sort(); m.append(1)"),
    "math": module("scale = 1.0 / math.sqrt(x.shape[-1]); e = math.exp(scale) + math.log(2.0)"),
    "loops": module("\n        ".join(["for i in range(3):", "    cuda_extension.scaled(x, x, x, i, 1)"])),
    "dtypes": module("y = torch.empty(x.shape, dtype=torch.bfloat16, device=x.device)"),
    "checks": module("assert x.is_cuda and x.dtype == torch.float32 and isinstance(x, torch.Tensor)"),
    "no grad": module(
        "\n        ".join(["with torch.no_grad():", "    z = torch.zeros(3, device=x.device)"])
    ),
    "own method named like a torch one": module("self.softmax(x)")
    + "\n    def softmax(self, x):\n        return x\n",
    "own launcher named like a torch one": module("cuda_extension.softmax(x, x, 1)"),
    "holder": module(init="self.linear = nn.Linear(cols, cols, bias=False)"),
    "constants": module(init="self.register_buffer('mask', torch.tril(torch.ones(cols, cols)).bool())"),
    "initial values": module(
        init="nn.init.xavier_uniform_(self.linear.weight); w = torch.randn(3) @ torch.ones(3)"
    ),
    "reset": module(init="self.reset()")
    + "\n    def reset(self):\n        torch.nn.init.normal_(self.weight)\n",
    "names of its own": module("w = getattr(self, 'weight'); n = hasattr(self, 'kept')"),
    "indexed parameters": module("w = [getattr(self, f'w{i}') for i in range(3)]"),
    "stream and graph": module("s = torch.cuda.current_stream(); g = torch.cuda.CUDAGraph()"),
    "annotations": module("y: torch.Tensor | None = None", head="from typing import Any\nimport functools\n"),
    "split weights, kept until they change": module(
        "\n        ".join(
            [
                "key = (self.weight.data_ptr(), self.weight._version)",
                "if getattr(self, '_key', None) != key:",
                "    self._parts = torch.empty(2, 8, dtype=torch.bfloat16, device=x.device)",
                "    cuda_extension.split(self.weight, self._parts, self.weight.numel())",
                "    self._key = key",
            ]
        )
    ),
    "dispatch by dtype": module(
        "launch = {torch.float32: cuda_extension.f, torch.half: cuda_extension.h}[x.dtype]"
    ),
    "another class": module() + "\n\nclass Block(nn.Module):\n    def forward(self, x):\n        return x\n",
    "docstring about matmul": '"""No torch.matmul(x) here, nor F.relu, x @ w or eval()."""\n' + module(),
    "set and dict": module(
        "seen = set(); seen.add(3); d = {}; d.update(a=1); d.pop('a'); ''.join(['a']).split(',')"
    ),
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_an_honest_program_breaks_no_rule(text):
    assert judged(text) is None


def test_other_python_files_are_read_too():
    candidate = Candidate.of({"model_new.py": module(), "kernels/more.py": "import os\n", "kernels/a.cu": ""})
    assert breach(candidate).where == "kernels/more.py:1"


def test_a_candidate_without_its_module_is_rejected():
    assert breach(Candidate.of({"kernels/a.cu": ""})).rule == "model"


def test_kept_split_weights_pass_the_whole_judge(scaled_judge, scaled):
    kept = """        key = (self.weight.data_ptr(), self.weight._version)
        if getattr(self, "_key", None) != key:
            self._copy = torch.empty_like(self.weight)
            ones = torch.ones_like(self.weight)
            cuda_extension.scaled(ones, self.weight, self._copy, self.weight.numel(), self.weight.numel())
            cuda_extension.touched(ones)
            self._key = key
        y = torch.empty_like(x)
        cuda_extension.scaled(x, self.weight, y, x.numel(), x.shape[1])
        return y
"""
    assert isinstance(scaled_judge.verify(scaled(kept)), Passed)
