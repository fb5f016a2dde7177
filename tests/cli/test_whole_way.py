"""The whole way, nothing replaced: a run on the cpu device, its folder used as it is and judged again."""

import json
import re
import subprocess
import sys

import pytest

from warpsmith.agent.workspace.folder import skill_text
from warpsmith.cli.app import run

USE = """
import torch
from model_new import ModelNew
from task import Model, get_init_inputs, get_inputs
reference, model = Model(*get_init_inputs()).eval(), ModelNew(*get_init_inputs()).eval()
model.load_state_dict(reference.state_dict())
inputs = get_inputs()
with torch.no_grad():
    assert torch.allclose(model(*inputs), reference(*inputs))
"""


def call(tool, number, **arguments):
    return {"type": "ToolCall", "call_id": str(number), "tool": tool, "arguments": arguments}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A task and a policy that writes the guide's own program for it."""
    folder = tmp_path_factory.mktemp("whole")
    files = dict(
        re.findall(r"`(kernels/scale\.cu|model_new\.py)`\n```\w+\n(.*?)```", skill_text(), re.DOTALL)
    )
    writes = [call("write", n, path=path, text=text) for n, (path, text) in enumerate(files.items())]
    replies = [{"text": "I write it.", "tool_calls": [*writes, call("profile", 9)]}]
    (folder / "script.json").write_text(json.dumps(replies))
    (folder / "scale.py").write_text(
        "import torch\n"
        "class Model(torch.nn.Module):\n"
        "    def __init__(self, width):\n"
        "        super().__init__()\n"
        "        self.weight = torch.nn.Parameter(torch.randn(width))\n"
        "    def forward(self, x): return x * self.weight\n"
        "def get_init_inputs(): return [33]\n"
        "def get_inputs(): return [torch.randn(70, 33)]\n"
    )
    return folder


@pytest.mark.slow
def test_a_task_becomes_a_folder_that_can_be_used_and_judged_again(place, capsys, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.setenv("WARPSMITH_CACHE", str(place / "cache"))
    code = run(["optimize", "scale.py", "--model", "scripted:script.json", "--device", "cpu", "--out", "run"])
    printed = capsys.readouterr()
    assert code in (0, 4), printed.err
    assert "(modelled)" in printed.out

    used = subprocess.run(
        [sys.executable, "-c", USE], cwd=place / "run", capture_output=True, text=True, check=False
    )
    assert used.returncode == 0, used.stderr

    assert run(["verify", "run/task.py", "run", "--device", "cpu", "--no-timing", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["is_correct"]
    (place / "run" / "libcandidate.so").unlink()
    assert run(["build", "run", "--device", "cpu"]) == 0
    assert (place / "run" / "libcandidate.so").is_file()
    assert run(["runs", "show", "run"]) == 0
    assert "write ×2, profile" in capsys.readouterr().out

    assert run(["runs", "fork", "run", "--turn", "1", "--max-turns", "1", "--out", "fork", "--json"]) in (
        0,
        4,
    )
    forked = json.loads(capsys.readouterr().out)
    assert [row["item"] for row in forked["ledger"]] == ["turn", "final"]
    assert run(["runs", "diff", "run", "fork", "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert compared["files"] == []
    assert compared["b"]["forked"]["turn"] == 1
    assert run(["runs", "list", ".", "--correct", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 2
    assert "## What each kernel does" in (place / "run" / "README.md").read_text()
