"""Each rule rejects what it names, and an honest program breaks none."""

import pytest

from warpsmith.core import Candidate, Passed, Rejected
from warpsmith.judge.gates.rules import RULES, advice, breach

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


def lines(*texts):
    return "\n        ".join(texts)


def candidate(text, kernel="// kernels", **more):
    return Candidate.of({"model_new.py": text, "kernels/a.cu": kernel, **more})


BREACHES = {
    "syntax": (module("x = = 1"), module("x = (")[:-30], "\0", "class ModelNew:\n  def f(:\n"),
    "model": ("import torch\n", "class Model: pass\n"),
    "import": (
        module(head="from subprocess import run\n"),
        module(head="import ctypes\n"),
        module("import importlib"),
        module("import multiprocessing as mp"),
        module(head="import warpsmith\n"),
        module(head="from reference import Model\n"),
        module(head="from model import Model\n"),
        module(head="import importlib.util as u\n"),
        module(head="from sys import *\n"),
        module(head="import base64\n"),
        module(head="from concurrent.futures import ThreadPoolExecutor\n"),
        module(head="from unittest import mock\n"),
    ),
    "interpreter": (
        module("exec('1')"),
        module("eval('1')"),
        module("__import__('os')"),
        module("__builtins__['open']"),
        module("globals()['x']"),
        module("().__class__.__base__.__subclasses__()"),
        module("self.forward.__globals__"),
        module("getattr(self.forward, '__globals__')"),
        module("f = compile"),
        module("sys._getframe(1)", head="import sys\n"),
        module("s = sys; s._getframe()", head="import sys\n"),
        module("frame()", head="from sys import _getframe as frame\n"),
        module("sys.modules['time']", head="import sys\n"),
        module("f(sys)", head="import sys\n"),
        module("sys.modules", head="from contextlib import sys\n"),
        module("torch.sys.modules"),
        module("gc.get_objects()", head="import gc\n"),
        module("inspect.stack()", head="import inspect\n"),
        module("threading.Thread(target=print).start()", head="import threading\n"),
        module("types.FunctionType(1, 2)", head="import types\n"),
        module("try: 1/0\n        except Exception as e: e.__traceback__.tb_frame"),
    ),
    "files": (
        module("open('/etc/passwd')"),
        module("f = open"),
        module("open('kernels/a.cu', 'w')"),
        module("open('../a.cu')"),
        module("open('/proc/self/maps.cu')"),
        module("Path('/etc/passwd').read_text()", head="from pathlib import Path\n"),
        module("os.listdir('/')", head="import os\n"),
        module("os.system('id')", head="import os\n"),
        module("os._exit(0)", head="import os\n"),
        module("os.environ['WARPSMITH_REQUESTS_FD']", head="import os\n"),
        module("os.environ.get('HOME')", head="import os\n"),
        module("dict(os.environ)", head="import os\n"),
        module("environ['LD_PRELOAD'] = 'x'", head="from os import environ\n"),
        module("np.memmap('x')", head="import numpy as np\n"),
    ),
    "hidden": (
        module("getattr(torch, 'mat' + 'mul')"),
        module("getattr(nn.functional, name)"),
        module("t = torch; getattr(t, ''.join(['re', 'lu']))"),
        module("vars(torch)['relu']"),
        module("torch.__dict__['relu']"),
        module("operator.attrgetter('relu')(torch)", head="import operator\n"),
        module("getattr(torch, '__dict__')['relu']"),
    ),
    "patch": (
        module(init="torch.cuda.Event.elapsed_time = lambda a, b: 1e-3"),
        module(head="from torch.cuda import Event\nEvent.elapsed_time = None\n"),
        module(head="import time\ntime.perf_counter = lambda: 0.0\n"),
        module("setattr(torch, 'allclose', lambda *a: True)"),
        module("t = torch.cuda; t.synchronize = lambda: None"),
        module("del torch.relu"),
        module("math.sqrt, y = 1, 2"),
        module("object.__setattr__(torch, 'x', 1)"),
        module("cuda_extension.scaled = print"),
        module("torch.utils.cpp_extension.CUDA_HOME = None"),
    ),
    "extension": (
        module("cuda_extension._c_scaled(x.data_ptr())"),
        module("cuda_extension.reset_counters()"),
        module("getattr(cuda_extension, '_c_' + name)(x)"),
        module(head="from cuda_extension import _c_scaled as f\n"),
        module("e = cuda_extension; e.TRAFFIC.bytes_touched = 1").replace(
            "TRAFFIC.bytes_touched = 1", "TRAFFIC"
        ),
    ),
    "torch-inside": (
        module(init="self.f = torch.compile(nn.ReLU())"),
        module("torch._C._set_deterministic_algorithms(False)"),
        module("torch.use_deterministic_algorithms(False)"),
        module("torch.jit.script(f)"),
        module("torch.ops.load_library('x.so')"),
        module("torch.load('x')"),
        module("torch.cuda.cudart()"),
        module(head="from torch.utils._python_dispatch import _disable_current_modes\n"),
        module(head="@torch.library.custom_op('a::b', mutates_args=())\ndef f(x: int) -> int: return x\n")
        .replace("import math", "")
        .replace("@", "import torch\n@", 1),
        module("x.untyped_storage().tolist()"),
        module("s = x.untyped_storage()"),
    ),
    "subclass": (
        module(head="import torch\nclass T(torch.Tensor): pass\n"),
        module(head="class T:\n    def __torch_function__(self, f, t, a, k): pass\n"),
        module(head="from torch.cuda import Event\nclass E(Event): pass\n"),
    ),
}
NATIVE = {
    "include": (
        '#include "/etc/passwd"\n',
        "#include </etc/passwd>\n",
        '#include "../../secret.h"\n',
        '#define F "/etc/passwd"\n#include F\n',
        '#inc\\\nlude "/etc/passwd"\n',
        "#if __has_include(</root/key>)\n#endif\n",
        '/* */ # /**/ include "/etc/passwd"\n',
    ),
    "assembly": (
        'asm(".incbin \\"/etc/passwd\\"");\n',
        'asm(".inc" "bin \\"/etc/passwd\\"");\n',
        'asm("\\056incbin \\"/etc/passwd\\"");\n',
        'asm(R"(.incbin "/etc/passwd")");\n',
        'extern "C" int f() { long r; asm volatile("syscall" : "=a"(r) : "a"(60)); return r; }\n',
    ),
    "early-code": (
        "__attribute__((constructor)) static void f() {}\n",
        "__attribute__((used, __constructor__(101))) void f() {}\n",
        "[[gnu::constructor]] void f() {}\n",
        '__attribute__((section(".init_array"))) void (*p)() = 0;\n',
    ),
    "reach": (
        'extern "C" int f() { return system("id"); }\n',
        "int f() { return ::fork(); }\n",
        'int f() { return std::system("id"); }\n',
        "void f() { void* p; cudaMallocManaged(&p, 4); }\n",
        "void f() { cudaIpcMemHandle_t h; cudaIpcGetMemHandle(&h, 0); }\n",
        "void f() { warpsmith_make_inert(0); }\n",
    ),
}


@pytest.mark.parametrize(
    ("rule", "text"), [(rule, text) for rule, texts in BREACHES.items() for text in texts]
)
def test_a_breach_is_rejected_by_its_rule(rule, text):
    verdict = breach(candidate(text))
    assert isinstance(verdict, Rejected), text
    assert verdict.rule == rule
    assert verdict.where.startswith("model_new.py:")


@pytest.mark.parametrize(
    ("rule", "kernel"), [(rule, kernel) for rule, kernels in NATIVE.items() for kernel in kernels]
)
def test_a_breach_in_cuda_is_rejected_by_its_rule(rule, kernel):
    verdict = breach(candidate(module(), kernel=kernel))
    assert isinstance(verdict, Rejected), kernel
    assert verdict.rule == rule
    assert verdict.where.startswith("kernels/a.cu:")


def test_every_rule_has_a_breach_in_this_file():
    assert {rule.name for rule in RULES} | {"syntax"} == {*BREACHES, *NATIVE}


def test_cuda_in_a_string_is_read_as_cuda():
    text = module(head='SOURCE = """\n#include <cuda_runtime.h>\n#include "/etc/passwd"\n"""\n')
    verdict = breach(candidate(text))
    assert verdict.rule == "include"
    assert verdict.where == "model_new.py:3"


def test_a_breach_is_told_with_its_line():
    assert breach(candidate(module("x = eval('1')"))).where == "model_new.py:14"


HONEST = {
    "plain": module(),
    "a build in the module": module(
        head="import os\nfrom torch.utils.cpp_extension import load_inline\n"
        "os.environ['TORCH_CUDA_ARCH_LIST'] = '9.0a'\nos.environ.setdefault('MAX_JOBS', '4')\n"
        "x = load_inline(name='x', cpp_sources='', cuda_sources='__global__ void f() {}', functions=['f'])\n"
    ),
    "its own source beside it": module(
        head="import os\nfrom pathlib import Path\nA = Path(__file__).with_name('a.cu').read_text()\n"
        "B = open(os.path.join(os.path.dirname(__file__), 'kernels', 'b.cu')).read()\n"
    ),
    "a folder on the path": module(
        head="import os\nimport sys\nsys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))\n"
    ),
    "an import that may fail": module(
        head="try:\n    import cuda_extension\n"
        "except ImportError as error:\n    raise RuntimeError('build it first') from error\n"
    ),
    "a docstring": '"""Forward pass. No torch.matmul(x), F.relu, x @ w, eval() nor try: except: pass."""\n'
    + module(),
    "torch by many names": module(
        "z = F.relu(x) @ mm(x, x) + torch.ops.aten.relu(x) + x.softmax(1)",
        head="import torch.nn.functional as F\nfrom torch import mm\n",
    ),
    "streams": module(
        lines(
            "s = torch.cuda.Stream()",
            "s.wait_stream(torch.cuda.current_stream())",
            "with torch.cuda.stream(s):",
            "    pass",
            "torch.cuda.current_stream().wait_stream(s)",
        )
    ),
    "graphs": module("g = torch.cuda.CUDAGraph(); e = torch.cuda.Event(enable_timing=True)"),
    "the raw stream": module("s = torch._C._cuda_getCurrentRawStream(x.get_device())"),
    "an autograd function": module(
        head="import torch\nclass F(torch.autograd.Function):\n    @staticmethod\n"
        "    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x\n"
    ),
    "libraries of the language": module(
        head="from __future__ import annotations\nimport warnings, functools, typing, dataclasses, logging\n"
        "import itertools, time, random, re, hashlib, enum, collections\nimport numpy as np\n"
        "warnings.filterwarnings('ignore')\nN = np.sqrt(2.0)\n"
    ),
    "a lock around a build": module(head="import threading\nLOCK = threading.Lock()\n"),
    "a name of its own that is a builtin's": module(
        "self.compile(x)", head="def compile(x):\n    return x\n\n\ncompile(3)\n"
    ),
    "a launcher by dtype": module("f = getattr(cuda_extension, f'scaled_{x.dim()}', cuda_extension.scaled)"),
    "a parameter by number": module("w = [getattr(self, f'w{i}') for i in range(3)]; setattr(self, 'a', 1)"),
    "a kept weight": module(
        lines(
            "key = (self.weight.data_ptr(), self.weight._version)",
            "if getattr(self, '_key', None) != key:",
            "    self._packed, self._key = self.weight.half().t().contiguous(), key",
        )
    ),
    "flags": module(init="torch.backends.cuda.matmul.allow_tf32 = True"),
    "a model of its own": module(head="import torch\nclass Model(torch.nn.Module): pass\n"),
    "a class by another name": "import torch\n\n\nclass Fast(torch.nn.Module): pass\n\n\nModelNew = Fast\n",
    "storage for its address": module("p = x.untyped_storage().data_ptr()"),
    "its own dictionary": module("self.__dict__['kept'] = x; n = self.__class__.__name__"),
    "a subclass of a module": module(head="import torch\nclass Block(torch.nn.Linear): pass\n"),
    "garbage": module("gc.collect()", head="import gc\n"),
    "a look for what torch offers": module("n = hasattr(torch, 'float8_e4m3fn') and len(x.shape)"),
    "an object's own attribute": module("self.weight.data = x; x.grad = None"),
}
HONEST_CUDA = {
    "ptx": '__global__ void f() { asm volatile("cp.async.wait_all;" ::: "memory"); }\n',
    "headers": '#include <cuda_runtime.h>\n#include "common.cuh"\n#include "../shared.cuh"\n',
    "words": '// system("id"), __attribute__((constructor)), #include "/etc/passwd"\nint system_size;\n',
    "attributes": "struct __attribute__((aligned(16))) V { float x[4]; };\n__attribute__((used)) int a;\n",
    "a function of its own": "__device__ float socket(float x) { return x; }\n"
    "__global__ void f(float* x) { x[0] = socket(x[0]); }\n",
    "what tree-sitter can't read": "extern __shared__ __align__(16) float t[];\n@@ ((\n",
    "printing": '#include <cstdio>\nvoid f() { fprintf(stderr, "syscall failed\\n"); exit(1); }\n',
    "a registry": "struct R { R() {} };\nstatic R r;\n",
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_an_honest_program_breaks_no_rule(text):
    assert breach(candidate(text)) is None


@pytest.mark.parametrize("kernel", HONEST_CUDA.values(), ids=HONEST_CUDA)
def test_honest_cuda_breaks_no_rule(kernel):
    assert breach(candidate(module(), kernel=kernel)) is None


def test_other_python_files_are_read_too_and_may_be_imported():
    more = {"kernels/more.py": "import ctypes\n"}
    assert breach(candidate(module(), **more)).where == "kernels/more.py:1"
    helper = {"kernels/model.py": "SIZE = 3\n"}
    assert breach(candidate(module(head="from kernels.model import SIZE\nimport model\n"), **helper)) is None


def test_a_candidate_without_its_module_is_rejected():
    assert breach(Candidate.of({"kernels/a.cu": ""})).rule == "model"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (module(lines("try: pass", "except Exception: x = x.softmax(1)")), "handles exceptions"),
        (module("torch.relu(x) if x.dim() > 9 else 0"), "`torch.relu` would compute"),
        (module("x.softmax(1) if x.dim() > 9 else 0"), "`.softmax()` would compute"),
        (module("getattr(x, name)()"), "name that is computed"),
        (module(init="torch.backends.cudnn.allow_tf32 = True"), "uses torch.backends"),
    ],
)
def test_what_is_odd_and_no_breach_is_advice(text, says):
    assert breach(candidate(text)) is None
    assert any(says in line for line in advice(candidate(text)))


def test_a_plain_program_needs_no_advice():
    assert advice(candidate(module(init="self.weight.data.normal_(); w = torch.relu(self.weight)"))) == []


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


NAMESAKES = """
import cuda_extension
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

ext = load_inline(name="ext", cpp_sources="", cuda_sources="")


class ModelNew(nn.Module):
    def touch(self, x):
        return x

    def forward(self, x):
        cuda_extension.touch(x)
        cuda_extension.unlink(self.touch(x))
        return ext.rmdir(x)
"""
NAMESAKE_LAUNCHERS = """
#include <cuda_runtime.h>
extern "C" int system(const float* x, int (*f)(int), cudaStream_t stream) { return 0; }
extern "C" int fork(const float* x, int n, cudaStream_t s) noexcept { return system(x, nullptr, s); }
extern "C" int touch(const float* x, int n, cudaStream_t stream) { return fork(x, n, stream); }
"""


def test_a_program_s_own_functions_may_have_the_names_of_others():
    files = {"model_new.py": NAMESAKES, "kernels/a.cu": NAMESAKE_LAUNCHERS}
    assert breach(Candidate.of(files)) is None


@pytest.mark.parametrize(
    "line", ["p.touch()", "self.p.touch()", "helper.p.touch()", "self.rmdir()", "Path('a').unlink()"]
)
def test_a_name_that_is_a_program_s_own_does_not_cover_others(line):
    model = f"""
import helper
from pathlib import Path
from torch import nn

p = Path("a")

class ModelNew(nn.Module):
    def touch(self):
        {line}
"""
    files = {"model_new.py": model, "helper.py": "from pathlib import Path\np = Path('a')\n", "k.cu": ""}
    rejected = breach(Candidate.of(files))
    assert rejected is not None
    assert rejected.rule == "files"


def test_torch_s_products_convolutions_and_padding_are_not_remarked_on():
    body = "F.conv2d(F.pad(x, (1, 1)), x), F.linear(x, x), F.conv_transpose2d(x, x)"
    model = f"""
import torch.nn.functional as F
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x):
        return {body}
"""
    assert advice(Candidate.of({"model_new.py": model, "k.cu": ""})) == []
