"""Naming a task: what is accepted, and the one line that answers what is not."""

import os

import pytest

from warpsmith.core import TaskError, UsageError
from warpsmith.tasks import CPU_SCALE, load_task

GOOD = """
import torch
SCALE = 1.0
class Model(torch.nn.Module):
    def forward(self, x): return x
def get_init_inputs(): return []
def get_inputs(): return [torch.ones(int(64 * SCALE))]
"""


@pytest.fixture
def write(tmp_path):
    def write(source, name="task.py"):
        path = tmp_path / name
        path.write_bytes(source if isinstance(source, bytes) else source.encode())
        return str(path)

    return write


def test_a_file_becomes_a_task_named_after_it(write):
    path = write(GOOD, "my_norm.py")
    task = load_task(path, device_kind="cuda")
    assert (task.task_id, task.provenance, task.scale, task.source) == ("my_norm", path, 1.0, GOOD)


@pytest.mark.parametrize(
    ("own", "asked", "kind", "expected"),
    [
        ("1.0", None, "cuda", 1.0),
        ("1.0", None, "cpu", CPU_SCALE),
        ("0.25", None, "cuda", 0.25),
        ("1 / 256", None, "cpu", 1 / 256),
        ("1.0", 0.5, "cpu", 0.5),
        ("1.0", 2, "cuda", 2.0),
        ("compute()", 0.5, "cpu", 0.5),
        ("(\n    1.0\n)", 0.5, "cpu", 0.5),
    ],
)
def test_the_scale_is_written_into_the_source(write, own, asked, kind, expected):
    source = GOOD.replace("SCALE = 1.0", f"SCALE = {own}  # ü SCALE = 1.0")
    task = load_task(write(source), scale=asked, device_kind=kind)
    scope = {}
    line = next(line for line in task.source.replace("(\n    ", "(").split("\n") if line.startswith("SCALE"))
    exec(line.split("#")[0].rstrip(") ").replace("(", ""), scope)
    assert scope["SCALE"] == task.scale == expected
    assert "# ü SCALE = 1.0" in task.source


def test_only_the_top_level_scale_is_rewritten(write):
    inner = 'TEXT = """\nSCALE = 1.0\n"""\ndef other():\n    SCALE = 1.0\n    return SCALE\n'
    source = f"# ünïcode\n{inner}{GOOD}"
    task = load_task(write(source), scale=0.5)
    assert task.source == f"# ünïcode\n{inner}{GOOD.replace('SCALE = 1.0', 'SCALE = 0.5')}"


def test_the_scale_changes_the_digest(write):
    path = write(GOOD)
    assert load_task(path, scale=0.5).digest != load_task(path, scale=1.0).digest


def test_a_file_without_scale_runs_as_it_is(write):
    source = GOOD.replace("SCALE = 1.0", "").replace("SCALE", "1")
    assert load_task(write(source), device_kind="cpu").source == source
    with pytest.raises(UsageError, match=r"no top-level SCALE; write `SCALE = 1\.0`"):
        load_task(write(source), scale=0.5)


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf")])
def test_a_scale_is_a_positive_number(write, scale):
    with pytest.raises(UsageError, match="a scale is a positive number"):
        load_task(write(GOOD), scale=scale)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (
            GOOD.replace("class Model", "class Net"),
            TaskError,
            "does not define Model .classes: Net; functions: get_init",
        ),
        (GOOD.replace("def get_inputs", "def inputs"), TaskError, "does not define get_inputs"),
        (
            GOOD.replace("get_inputs()", "get_inputs(batch)"),
            TaskError,
            "line 7: get_inputs must be callable without",
        ),
        ("", TaskError, "Model or get_inputs or get_init_inputs"),
        ("def f(:\n", UsageError, "line 1: not valid Python"),
        ("x = 1\0", UsageError, "not valid Python"),
        ("(" * 5000, UsageError, "not valid Python"),
        ("-" * 200_000 + "1", UsageError, "not valid Python"),
        (b"\xff\xfe\x00", UsageError, "not UTF-8 text"),
        (b"# " + b"x" * (5 << 20), UsageError, "larger than 4 MiB"),
        (GOOD + "SCALE = 2.0\n", UsageError, "assigns SCALE 2 times"),
        (GOOD.replace("SCALE = 1.0", "SCALE = size()"), UsageError, "not a plain number"),
    ],
)
def test_an_unusable_file_is_answered_in_one_line(write, source, error, message):
    with pytest.raises(error, match=message) as raised:
        load_task(write(source))
    assert "\n" not in str(raised.value)


def test_what_is_no_file_is_answered_in_one_line(tmp_path):
    (tmp_path / "inner.py").write_text(GOOD)
    os.mkfifo(tmp_path / "pipe")
    cases = {
        str(tmp_path): r"is a folder; name a file in it \(inner\.py\)",
        str(tmp_path / "missing.py"): "no such file",
        str(tmp_path / "pipe"): "not a regular file",
        "/dev/zero": "not a regular file",
        "": "names no task",
        "a\0b": "names no task",
        str(tmp_path / ("x" * 300)): "cannot be read|no such file",
    }
    for spec, message in cases.items():
        with pytest.raises(UsageError, match=message):
            load_task(spec)


def test_definitions_inside_if_and_by_import_count(write):
    source = """
from somewhere import Model
if True:
    def get_inputs(): return []
try:
    get_init_inputs = list
except ValueError:
    pass
"""
    assert load_task(write(source)).source == source


def test_a_byte_order_mark_is_dropped(write):
    assert load_task(write(b"\xef\xbb\xbf" + GOOD.encode())).source == GOOD


def test_inputs_are_only_for_modules(write):
    with pytest.raises(UsageError, match="has its own get_inputs"):
        load_task(write(GOOD), inputs=("f32[4]",))
