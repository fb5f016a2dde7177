"""Tasks made of an importable class and a line for each input."""

import pytest
import torch

from warpsmith.core import TaskError, UsageError
from warpsmith.tasks import load_task
from warpsmith.tasks.inputs import DTYPES, InputSpec

LAYERS = '''
import torch

from math import pi as Imported

raise_on_import = 1 / 1

class Scale(torch.nn.Module):
    """Has a "quoted" docstring."""
    def __init__(self, factor=2.0, *, offset=0.0):
        super().__init__()
        self.factor, self.offset = factor, offset
    def forward(self, x): return x * self.factor + self.offset

def function(x): return x
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "mypackage_for_tests"
    folder.mkdir()
    (folder / "layers.py").write_text(LAYERS)
    monkeypatch.chdir(tmp_path)
    return "mypackage_for_tests.layers"


def executed(task, monkeypatch):
    """The task's module and its output on its own inputs; the import path is put back afterwards."""
    import sys

    monkeypatch.setattr(sys, "path", list(sys.path))
    scope = {}
    exec(task.source, scope)
    inputs = scope["get_inputs"]()
    return inputs, scope["Model"](*scope["get_init_inputs"]())(*inputs)


@pytest.mark.parametrize(
    ("init", "factor", "offset"),
    [(None, 2.0, 0.0), ("[3.0]", 3.0, 0.0), ('{"factor": 4.0, "offset": 1.0}', 4.0, 1.0)],
)
def test_a_class_is_imported_and_constructed(package, monkeypatch, init, factor, offset):
    task = load_task(f"{package}:Scale", inputs=("f32[3,5]",), init=init)
    (x,), y = executed(task, monkeypatch)
    assert task.task_id == "Scale"
    assert (x.shape, x.dtype) == ((3, 5), torch.float32)
    assert torch.equal(y, x * factor + offset)


def test_an_installed_class_needs_no_path(monkeypatch):
    task = load_task("torch.nn:GELU", inputs=("bf16[7]",))
    _, y = executed(task, monkeypatch)
    assert y.dtype == torch.bfloat16
    assert "sys.path" not in task.source


def test_loading_executes_nothing(package, tmp_path):
    (tmp_path / "mypackage_for_tests" / "bomb.py").write_text("class A: ...\nraise SystemExit(1)\n")
    assert load_task("mypackage_for_tests.bomb:A", inputs=("f32[1]",)).task_id == "A"


def test_the_digest_follows_the_class(package, tmp_path):
    before = load_task(f"{package}:Scale", inputs=("f32[3]",))
    (tmp_path / "mypackage_for_tests" / "layers.py").write_text(
        LAYERS.replace("x * self.factor", "x / self.factor")
    )
    assert load_task(f"{package}:Scale", inputs=("f32[3]",)).digest != before.digest


@pytest.mark.parametrize(
    ("spec", "keywords", "error", "message"),
    [
        ("{}:Scales", {}, TaskError, "defines no Scales .classes: Scale; functions: function"),
        ("{}:function", {}, TaskError, "is a function"),
        ("{}.more:Scale", {}, UsageError, "no module mypackage_for_tests.layers.more"),
        ("nowhere:Scale", {}, UsageError, "no module nowhere in .* stand in the folder"),
        ("task.py:Model", {}, UsageError, "a file is named by its path alone"),
        ("{}:Scale", {"inputs": ()}, UsageError, "needs a line for each input"),
        ("{}:Scale", {"scale": 0.5}, UsageError, "has no SCALE"),
        ("{}:Scale", {"init": "[1"}, UsageError, "not JSON"),
        ("{}:Scale", {"init": "7"}, UsageError, "a JSON list or object"),
        ("{}:Scale", {"init": '{"a b": 1}'}, UsageError, "a JSON list or object"),
        ("{}:Scale", {"init": "[" * 100_000}, UsageError, "not JSON"),
    ],
)
def test_a_wrong_request_is_answered_in_one_line(package, spec, keywords, error, message):
    with pytest.raises(error, match=message) as raised:
        load_task(spec.format(package), **{"inputs": ("f32[3]",), **keywords})
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "shape", "dtype", "low", "high"),
    [
        ("f32[64,1024]", (64, 1024), "float32", None, None),
        (" f16[ 2 , 3 ] ", (2, 3), "float16", None, None),
        ("f64[]", (), "float64", None, None),
        ("f32[4]:-1.5..2", (4,), "float32", -1.5, 2.0),
        ("f32[4]:.5..1e3", (4,), "float32", 0.5, 1e3),
        ("i64[64]:0..1000", (64,), "int64", 0, 999),
        ("i8[64]:-128..128", (64,), "int8", -128, 127),
        ("u8[64]:0..256", (64,), "uint8", 0, 255),
        ("bool[8,8]", (8, 8), "bool", None, None),
    ],
)
def test_an_input_line_makes_such_a_tensor(text, shape, dtype, low, high):
    tensor = eval(InputSpec.parse(text).expression, {"torch": torch})
    assert (tuple(tensor.shape), tensor.dtype) == (shape, getattr(torch, dtype))
    if low is not None:
        assert low <= tensor.min()
        assert tensor.max() <= high


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_has_a_maker(dtype):
    bounds = ":0..2" if dtype[0] in "iu" else ""
    assert eval(InputSpec.parse(f"{dtype}[3]{bounds}").expression, {"torch": torch}).numel() == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("float32[4]", r"no input; write dtype\[sizes\].*dtypes: f64, f32"),
        ("f32", "no input"),
        ("f32[4", "no input"),
        ("f32[4,,5]", "empty size"),
        ("f32[-4]", "no input"),
        ("f32[0]", "has 0 elements"),
        ("f32[99999,99999,99999]", "elements; 1 to"),
        ("i64[4]", r"integers need bounds, such as i64\[4\]:0\.\.1000"),
        ("i64[4]:0.5..2", "no number of that dtype"),
        ("i64[4]:5..5", "low must be below high"),
        ("u8[4]:0..1000", "must fit into u8"),
        ("f32[4]:nan..inf", "low must be below high"),
        ("f32[4]:0..inf", "must fit into f32"),
        ("bool[4]:0..1", "booleans have no bounds"),
        ('f32[4]"""+1', "no input"),
        ("f32[4]:0..__import__('os')", "no number"),
    ],
)
def test_a_bad_input_line_names_the_form(text, message):
    with pytest.raises(UsageError, match=message):
        InputSpec.parse(text)
