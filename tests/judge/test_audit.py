"""What an audit finds in tasks that were made for it, and that it finds nothing in honest ones.

Each file in `degenerate/` says in its docstring what has to be found: severity, kind, how the subject begins.
"""

import re
from pathlib import Path

import pytest
import torch

from warpsmith.core import Task, TaskError, Tolerance
from warpsmith.core.audit import Kind, Severity
from warpsmith.judge import JudgeConfig
from warpsmith.judge.audit import Auditor
from warpsmith.judge.oracle.probes import audited
from warpsmith.judge.protocol import Audit, Open

DEGENERATE = sorted((Path(__file__).parent / "degenerate").glob("*.py"))
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
FINDS = re.compile(r"^Finds: (?P<severity>[^:]+): (?P<kind>[^:]+): (?P<subject>.+)$", re.MULTILINE)


@pytest.fixture
def audit(tmp_path):
    """Audits a source in this process."""

    def run(source, budget_s=60.0):
        path = tmp_path / "reference.py"
        path.write_text(source)
        opened = Open(source=path, folder=tmp_path, device="cpu", seed=5, num_inputs=2, tolerance=Tolerance())
        with torch.no_grad():
            return audited(Audit(open=opened, budget_s=budget_s))

    return run


@pytest.mark.parametrize("path", DEGENERATE, ids=lambda path: path.stem)
def test_what_is_wrong_with_a_task_is_found(audit, path):
    source = path.read_text()
    wanted = FINDS.search(source)
    found = audit(source).findings
    texts = [f"{item.severity.value}: {item.kind.value}: {item.subject}" for item in found]
    assert any(text.startswith(wanted[0].removeprefix("Finds: ")) for text in texts), texts
    assert all(item.evidence and item.repair for item in found)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_are_clean(audit, path):
    source = path.read_text().replace("SCALE = 1.0", "SCALE = 1 / 512")
    severities = {item.severity for item in audit(source).findings}
    assert severities <= {Severity.NOTE}


def test_a_degenerate_task_comes_first_and_is_not_ablated(audit):
    found = audit((Path(__file__).parent / "degenerate" / "shifted_relu.py").read_text())
    assert found.findings[0].severity is Severity.DEGENERATE
    assert not any(item.kind is Kind.CANCELLED_OPERATOR for item in found.findings)
    assert any("none does" in line for line in found.skipped)


def test_a_guard_against_zero_is_no_redundant_operator(audit):
    source = (Path(__file__).parent / "degenerate" / "identity.py").read_text()
    found = audit(source.replace("x.clone()", "x / (x.norm(dim=1, keepdim=True) + 1e-6)"))
    assert not [item for item in found.findings if item.kind is Kind.REDUNDANT_OPERATOR]


def test_a_fixed_mask_beside_drawn_inputs_is_a_note(audit):
    source = (Path(__file__).parent / "degenerate" / "unused_input.py").read_text()
    found = audit(
        source.replace("x.sin()", "x.sin() * scale").replace("torch.rand(64)", "torch.arange(64.0)")
    ).findings
    fixed = [item for item in found if item.kind is Kind.FIXED_INPUTS]
    assert [(item.severity, item.subject) for item in fixed] == [(Severity.NOTE, "input scale")]


def test_a_probe_leaves_the_weights_as_they_were(audit):
    """Else what is disturbed first would hide what comes after."""
    source = (Path(__file__).parent / "degenerate" / "unused_layer.py").read_text()
    dead = [item.subject for item in audit(source).findings if item.kind is Kind.DEAD_PARAMETER]
    assert dead == ["parameter projection.weight, projection.bias"]


def test_without_time_it_says_what_it_left_out(audit):
    found = audit((Path(__file__).parent / "degenerate" / "scale_before_norm.py").read_text(), budget_s=0.0)
    assert any("were not ablated" in line for line in found.skipped)


# --- the host's side ---


@pytest.fixture
def auditor(device, sandbox):
    return Auditor(device=device, sandbox=sandbox, config=JudgeConfig(), budget_s=20.0)


def task(source):
    return Task(task_id="a task", source=source, provenance="tests")


def test_an_audit_runs_in_the_sandbox(auditor):
    found = auditor.audit(task((Path(__file__).parent / "degenerate" / "identity.py").read_text()))
    assert found.severity is Severity.DEGENERATE
    assert found.inputs == ("x float32[16, 64]",)
    assert found.num_forwards > 3


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("x = 1", "a task: the task defines no Model"),
        ("import os\nos._exit(3)", "a task: the reference ended its process"),
    ],
    ids=["no Model", "exits"],
)
def test_a_task_that_does_not_run_says_why(auditor, source, says):
    with pytest.raises(TaskError, match=says):
        auditor.audit(task(source))


def test_a_task_that_hangs_is_given_up(device, sandbox, monkeypatch):
    monkeypatch.setattr("warpsmith.judge.audit.LEAST_PATIENCE_S", 8.0)
    auditor = Auditor(device=device, sandbox=sandbox, config=JudgeConfig(), budget_s=1.0)
    with pytest.raises(TaskError, match="not done within 8 s"):
        auditor.audit(task("import time\ntime.sleep(1000)"))
