"""Two models are alike if they compute alike, whatever they call things, however large they are."""

import contextlib
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core import Task, TaskError
from warpsmith.tasks.synth.similarity import fingerprint, similarity, token_similarity

FRAME = """
import torch
import torch.nn as nn
import torch.nn.functional as F

{body}

def get_inputs():
    return [torch.rand(16, 32)]

def get_init_inputs():
    return [32, 64]
"""


def task(body, name="a"):
    return Task(task_id=name, source=FRAME.format(body=body), provenance="test")


BLOCK = '''
class Model(nn.Module):
    """A projection, an activation, a bias, a normalization."""

    def __init__(self, width, hidden):
        super().__init__()
        self.project = nn.Linear(width, hidden)
        self.shift = nn.Parameter(torch.zeros(hidden))
        self.norm = nn.LayerNorm(hidden)

    def forward(self, x):
        """Applies them."""
        x = self.project(x)
        x = torch.sigmoid(x)
        x = x + self.shift  # broadcast
        return self.norm(x)
'''

RENAMED = """
EPS = 1e-3

class Model(torch.nn.Module):
    def __init__(self, a: int, b: int, unused: float = 2.0) -> None:
        super(Model, self).__init__()
        self.ln = torch.nn.LayerNorm(normalized_shape=b, eps=EPS)
        self.first = nn.Parameter(torch.randn(b) * 0.02)
        self.fc = torch.nn.Linear(out_features=b, in_features=a)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = torch.sigmoid(self.fc(tokens))
        return self.ln(self.first + hidden)
"""


def test_a_task_is_wholly_like_itself():
    assert similarity(task(BLOCK), task(BLOCK)) == 1.0
    assert token_similarity(task(BLOCK), task(BLOCK)) == 1.0


def test_names_sizes_keywords_argument_order_docstrings_and_comments_do_not_matter():
    assert similarity(task(BLOCK), task(RENAMED)) == 1.0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.sigmoid(x)", "torch.tanh(x)"),
        ("x + self.shift", "x * self.shift"),
        ("nn.LayerNorm(hidden)", "nn.BatchNorm1d(hidden)"),
        ("nn.Linear(width, hidden)", "nn.Bilinear(width, hidden)"),
        ("return self.norm(x)", "return self.norm(self.norm(x))"),
        ("return self.norm(x)", "return x"),
        ("x = x + self.shift  # broadcast\n", "x = x + self.shift\n        x = F.relu(x)\n"),
    ],
)
def test_another_operator_is_another_model(old, new):
    assert old in BLOCK
    assert similarity(task(BLOCK), task(BLOCK.replace(old, new))) < 0.9


def test_the_order_of_operators_matters():
    swapped = BLOCK.replace("torch.sigmoid(x)", "x + self.shift").replace(
        "x + self.shift  # broadcast", "torch.sigmoid(x)"
    )
    assert similarity(task(BLOCK), task(swapped)) < 0.9


def forward(*lines, init=()):
    body = "\n".join(f"        {line}" for line in lines)
    made = "\n".join(f"        {line}" for line in ("super().__init__()", *init))
    head = "class Model(nn.Module):\n    def __init__(self, *sizes):"
    return task(f"{head}\n{made}\n    def forward(self, x):\n{body}\n")


SPELLINGS = {
    "function, module, method": [
        forward("return F.relu(x)"),
        forward("return self.act(x)", init=["self.act = nn.ReLU(inplace=True)"]),
        forward("return x.relu()"),
        forward("x.relu_()", "return x"),
        forward("return nn.ReLU()(x)"),
        forward("return torch.nn.functional.relu_(x)"),
        forward("act = lambda t: torch.relu(t)", "return act(x)"),
        forward("return self.act(x)", init=["self.act = F.relu"]),
        forward("return getattr(F, 'relu')(x)"),
        forward("return self.each[0](x)", init=["self.each = nn.ModuleList([nn.ReLU() for _ in range(3)])"]),
    ],
    "parameters as a module's and as arguments": [
        forward("return self.fc(x)", init=["self.fc = nn.Linear(8, 8, bias=False)"]),
        forward("return F.linear(x, self.w)", init=["self.w = nn.Parameter(torch.randn(8, 8))"]),
        forward("return F.linear(x, self.fc.weight, self.fc.bias)", init=["self.fc = nn.Linear(8, 8)"]),
    ],
    "a symbol, a function, a method": [
        forward("return x @ x"),
        forward("return torch.matmul(x, x)"),
        forward("return x.mm(x)"),
        forward("y = x", "y = torch.bmm(y, x)", "return y"),
    ],
    "numbers beside a tensor": [
        forward("return x * 2"),
        forward("return 0.5 * x"),
        forward("return torch.mul(x, 3)"),
        forward("x *= 7", "return x"),
        forward("return x * self.scale", init=["self.scale = sizes[0]"]),
        forward("return x * x.shape[-1]"),
    ],
    "a maximum and its part": [
        forward("return torch.max(x, dim=1)[0]"),
        forward("return x.max(1).values"),
        forward("values, where = torch.max(x, 1)", "return values"),
        forward("return torch.amax(x, 1)"),
    ],
    "one after the other": [
        forward("return F.relu(torch.tanh(x))"),
        forward("x = torch.tanh(x)", "x = F.relu(x)", "return x"),
        forward("return self.net(x)", init=["self.net = nn.Sequential(nn.Tanh(), nn.ReLU())"]),
        forward(
            "return self.net(x)",
            init=["net = [nn.Tanh()]", "net.append(nn.ReLU())", "self.net = nn.Sequential(*net)"],
        ),
        forward(
            "for part in self.net:",
            "    x = part(x)",
            "return x",
            init=["self.net = nn.ModuleList([nn.Tanh(), nn.Identity(), nn.ReLU()])"],
        ),
        forward(
            "return self.net(x)",
            init=[
                "from collections import OrderedDict",
                "self.net = nn.Sequential(OrderedDict([('a', nn.Tanh()), ('b', nn.ReLU())]))",
            ],
        ),
        forward("dead = torch.exp(x)", "return F.relu(torch.tanh(x))"),
        forward("with torch.no_grad():", "    x = x.tanh()", "assert x is not None", "return x.relu()"),
    ],
    "a value that is used twice, or computed twice": [
        forward("s = torch.sigmoid(x)", "return s * x + s"),
        forward("return torch.sigmoid(x) * x + torch.sigmoid(x)"),
    ],
    "an equation's letters": [
        forward("return torch.einsum('bij,bjk->bik', x, x)"),
        forward("return torch.einsum('nab, nbc -> nac', [x, x])"),
    ],
}


@pytest.mark.parametrize("group", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_how_it_is_spelled_does_not_matter(group):
    assert [similarity(group[0], other) for other in group] == [1.0] * len(group)


def test_no_two_of_these_are_alike():
    firsts = [group[0] for group in SPELLINGS.values()]
    pairs = [(a, b) for at, a in enumerate(firsts) for b in firsts[:at]]
    assert max(similarity(a, b) for a, b in pairs) < 0.9


DIFFERENT = {
    "the same tensor, or another": (forward("return x * x"), forward("return x * torch.ones(3)")),
    "a text that chooses": (
        forward("return F.gelu(x, approximate='tanh')"),
        forward("return F.gelu(x, approximate='none')"),
    ),
    "a text given to a module": (
        forward("return self.up(x)", init=["self.up = nn.Upsample(scale_factor=2, mode='nearest')"]),
        forward("return self.up(x)", init=["self.up = nn.Upsample(scale_factor=2, mode='bilinear')"]),
    ),
    "once, or in a loop": (
        forward("return torch.tanh(x) + 1"),
        forward("for _ in range(3):", "    x = torch.tanh(x) + 1", "return x"),
    ),
    "an input, or a parameter": (
        task("class Model(nn.Module):\n    def forward(self, x, y):\n        return x * y\n"),
        forward("return x * self.y", init=["self.y = nn.Parameter(torch.ones(3))"]),
    ),
    "two outputs, or one": (forward("return x.relu(), x.tanh()"), forward("return x.relu()")),
    "a branch, or none": (
        forward("if self.flag:", "    x = x.relu()", "return x.tanh()", init=["self.flag = sizes[0] > 3"]),
        forward("return x.tanh()"),
    ),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_these_are_told_apart(pair):
    assert similarity(*pair) < 0.9


def test_helpers_are_read_as_if_they_stood_in_the_model():
    flat = forward("y = torch.tanh(self.a(x))", "return y + x", init=["self.a = nn.Linear(4, 4)"])
    helped = task(
        """
def squash(value, *, fn=torch.tanh):
    return fn(value)

class Base(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.inner = nn.Linear(n, n)

    @property
    def layer(self):
        return self.inner

class Block(Base):
    def __init__(self, n, **rest):
        super().__init__(n)

    def forward(self, value):
        return self._out(squash(self.layer(value)), value)

    @staticmethod
    def _out(a, b):
        return a + b

class Model(nn.Module):
    def __init__(self, width, hidden, block=Block):
        super().__init__()
        self.block = block(width, extra=1)

    def forward(self, x):
        return self.block(x)
"""
    )
    assert similarity(flat, helped) == 1.0


def test_an_autograd_function_is_its_forward():
    wrapped = task(
        """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        ctx.save_for_backward(value)
        return value.tanh()

class Model(nn.Module):
    def forward(self, x):
        return Square.apply(x)
"""
    )
    assert similarity(wrapped, forward("return x.tanh()")) == 1.0


CHOSEN = """
CHOICE = '{}'

class Model(nn.Module):
    def __init__(self, size, hidden, act='relu'):
        super().__init__()
        self.act = getattr(F, act)

    def forward(self, x):
        return getattr(torch, CHOICE)(self.act(x))
"""


def test_a_constant_that_is_a_text_is_what_it_says():
    one, other = task(CHOSEN.format("exp")), task(CHOSEN.format("neg"))
    assert similarity(one, forward("return x.relu().exp()")) == 1.0
    assert similarity(one, other) < 0.9
    assert fingerprint(one).reference != fingerprint(other).reference


def test_a_text_among_the_constructors_arguments_is_too():
    given = task(CHOSEN.format("exp"))
    given = replace(given, source=given.source.replace("[32, 64]", "[32, 64, 'tanh']"))
    assert similarity(given, forward("return x.tanh().exp()")) == 1.0


DEEP = """
class Model(nn.Module):
    def __init__(self, width, sizes):
        super().__init__()
        layers = []
        for size in sizes:
            layers += [nn.Linear(width, size), nn.ReLU()]
            width = size
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)
"""


def test_how_many_layers_there_are_is_a_size():
    shallow, deep = task(DEEP), task(DEEP)
    deep = replace(deep, source=deep.source.replace("[32, 64]", "[32, [64, 64, 64, 8]]"))
    assert similarity(shallow, deep) == 1.0


def test_annotated_assignments_and_coroutines_are_read():
    noted = task(
        """
class Model(nn.Module):
    count: int
    eps: float = 1e-5

    async def _unused(self) -> None:
        total: int = 0
        left: "torch.Tensor"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = torch.tanh(x)
        return y
"""
    )
    assert similarity(noted, forward("return x.tanh()")) == 1.0
    assert token_similarity(noted, noted) == 1.0


def test_what_get_inputs_gives_is_an_input_even_where_it_has_a_default():
    optional = task(
        "class Model(nn.Module):\n    def forward(self, x=None, y=None):\n        return torch.tanh(x)\n"
    )
    assert similarity(optional, forward("return x.tanh()")) == 1.0


def test_a_record_of_outputs_is_what_it_holds():
    record = forward(
        "from transformers.modeling_outputs import BaseModelOutput",
        "out = BaseModelOutput(last_hidden_state=x.tanh(), attentions=None)",
        "return out",
    )
    part = forward(
        "from transformers.modeling_outputs import BaseModelOutput",
        "return BaseModelOutput(last_hidden_state=x.tanh()).last_hidden_state",
    )
    assert similarity(record, part) == similarity(part, forward("return x.tanh()")) == 1.0


def test_a_structure_names_what_cannot_be_told_apart():
    assert fingerprint(task(BLOCK)).structure == fingerprint(task(RENAMED)).structure
    assert fingerprint(task(BLOCK)).structure != fingerprint(forward("return x.tanh()")).structure


def test_the_reference_hash_is_of_the_text_without_names_and_sizes():
    names = {"hidden": "h", "shift": "s", "x": "tokens", "project": "fc", "norm": "ln"}
    other = re.sub(r"\w+", lambda word: names.get(word[0], word[0]), BLOCK).replace("# broadcast", "# 2-D")
    assert fingerprint(task(other)).reference == fingerprint(task(BLOCK)).reference
    assert fingerprint(task(RENAMED)).reference != fingerprint(task(BLOCK)).reference


UNARY = ("relu", "tanh", "sigmoid", "exp", "neg", "abs")
BINARY = ("add", "mul", "sub", "maximum")

GRAPHS = st.recursive(
    st.just("x"),
    lambda inner: (
        st.builds("torch.{}({})".format, st.sampled_from(UNARY), inner)
        | st.builds("torch.{}({}, {})".format, st.sampled_from(BINARY), inner, inner)
    ),
    max_leaves=8,
).filter(lambda expression: expression != "x")


@settings(max_examples=60, deadline=None)
@given(GRAPHS, GRAPHS)
def test_it_is_symmetric_and_within_bounds(left, right):
    a, b = forward(f"return {left}"), forward(f"return {right}")
    assert similarity(a, b) == similarity(b, a)
    assert 0.0 <= similarity(a, b) <= 1.0
    assert similarity(a, a) == 1.0


@settings(max_examples=60, deadline=None)
@given(GRAPHS, st.sampled_from(["y", "tensor_1", "weight", "gelu", "F_"]))
def test_no_name_and_no_assignment_changes_it(expression, name):
    one = forward(f"return {expression}")
    renamed = re.sub(r"\bx\b", name, expression)
    lines = [f"{name} = x", f"{name}_out = {renamed}"]
    other = forward(*lines, f"return {name}_out")
    assert similarity(one, other) == 1.0


HOSTILE = {
    "not Python": "class Model(:",
    "null bytes": "class Model: pass\0",
    "no Model": "class Net(nn.Module):\n    def forward(self, x): return x\n",
    "a Model that is a number": "Model = 3",
    "no forward": "class Model(nn.Module):\n    pass\n",
    "nothing computed": "class Model(nn.Module):\n    def forward(self, x):\n        return x\n",
    "a base of its own": "class Model(Model):\n    pass\n",
    "nested beyond the parser": "class Model(nn.Module):\n    def forward(self, x):\n        return "
    + "(" * 500
    + "x"
    + ")" * 500,
    "a list within itself": "class Model(nn.Module):\n    def forward(self, x):\n        xs = [x]\n"
    "        xs.append(xs)\n        return xs\n",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_cannot_be_read_is_said_so(body):
    with pytest.raises(TaskError, match=r"^bad[:,] "):
        fingerprint(task(body, "bad"))


GROWING = {
    "lists that double": ["xs = [x]"] + ["xs = xs + xs"] * 60 + ["return torch.cat(xs)"],
    "tuples that double": ["xs = (x, x)"] + ["xs = (xs, xs)"] * 60 + ["return torch.cat(xs)"],
    "stars that double": ["xs = [x]"] + ["xs = [*xs, *xs]"] * 60 + ["return torch.cat(xs)"],
    "functions that double": ["f = lambda t: t.exp()"]
    + ["f = (lambda g: lambda t: g(g(t)))(f)"] * 40
    + ["return f(x)"],
    "branches that double": [f"if sizes[{at}]:\n            x = x + {at}" for at in range(200)]
    + ["return x"],
    "a long chain": ["x = x.exp()"] * 4000 + ["return x"],
    "a chain that reads itself": ["x = x + x"] * 200 + ["return x"],
    "a function that calls itself": ["def f(t):\n            return f(t) + f(t)", "return f(x)"],
    "a loop without end": ["while True:\n            x = x.exp()", "return x"],
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("lines", GROWING.values(), ids=GROWING.keys())
def test_nothing_takes_without_bound(lines):
    """It is read, or said to be too large or too deep."""
    with contextlib.suppress(TaskError):
        fingerprint(forward(*lines))
