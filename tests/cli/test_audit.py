"""`warpsmith audit`: exit codes, one document, and one bad task among good ones."""

import pytest

from warpsmith.core import InfraError, TaskError
from warpsmith.core.audit import Finding, Kind, Severity, TaskAudit

CPU = ("--device", "cpu", "--sandbox", "process")


def finding(severity, kind=Kind.STALE):
    return Finding(kind=kind, severity=severity, subject="the output", evidence="off by 0", repair="scale it")


@pytest.fixture
def auditor(monkeypatch):
    """Replaces the auditor by one that finds the same in every task, or raises what is named after one."""

    def replace(*findings, raises=()):
        class FakeAuditor:
            def __init__(self, device, **rest):
                self.device = device

            def audit(self, task):
                seen.append(task)
                if task.task_id in dict(raises):
                    raise dict(raises)[task.task_id]
                return TaskAudit(
                    task_id=task.task_id,
                    digest=task.digest,
                    scale=task.scale,
                    inputs=("x float32[4, 33]",),
                    findings=findings,
                    num_forwards=9,
                    wall_s=1.0,
                    skipped=("2 of 3 operators were not ablated: no time left",),
                )

        seen = []
        monkeypatch.setattr("warpsmith.judge.audit.Auditor", FakeAuditor)
        return seen

    return replace


@pytest.mark.parametrize(
    ("severities", "code"),
    [((), 0), (("note",), 0), (("suspicious",), 1), (("note", "degenerate"), 1)],
    ids=["nothing", "a note", "suspicious", "degenerate"],
)
def test_it_ends_by_the_worst_that_was_found(cli, task, auditor, severities, code):
    auditor(*(finding(Severity(severity)) for severity in severities))
    assert cli("audit", task, *CPU).code == code


def test_each_finding_says_what_it_rests_on_and_how_to_mend_it(cli, task, auditor):
    auditor(finding(Severity.DEGENERATE))
    printed = cli("audit", task, *CPU).out
    for text in ("degenerate", "a stale answer passes: the output", "off by 0", "repair: scale it"):
        assert text in printed
    assert "2 of 3 operators were not ablated" in printed


def test_a_task_that_does_not_run_does_not_stop_the_others(cli, task, auditor, tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text(task.read_text())
    auditor(raises={"bad": TaskError("bad: the reference raises")}.items())
    printed = cli("audit", bad, tmp_path / "missing.py", task, "--json", *CPU)
    assert printed.code == 2
    kinds = [item["type"] for item in printed.document["tasks"]]
    assert kinds == ["Unaudited", "Unaudited", "TaskAudit"]
    assert "no such file" in printed.document["tasks"][1]["reason"]


def test_our_own_failure_stops_it(cli, task, auditor):
    auditor(raises={"task": InfraError("no room")}.items())
    assert cli("audit", task, *CPU).code == 6


def test_as_json_it_is_one_document(cli, task, auditor):
    auditor(finding(Severity.SUSPICIOUS))
    document = cli("audit", task, task, "--json", *CPU).document
    assert document["exit_code"] == 1
    assert [len(item["findings"]) for item in document["tasks"]] == [1, 1]
    assert document["tasks"][0]["findings"][0]["kind"] == "a stale answer passes"


def test_caps_change_the_source_that_is_run(cli, tmp_path, task, auditor):
    path = tmp_path / "sized.py"
    path.write_text("batch_size = 64\n" + task.read_text())
    seen = auditor()
    cli("audit", path, "--cap", "batch*=4", *CPU)
    assert seen[0].source.startswith("batch_size = 4\n")


@pytest.mark.parametrize("cap", ["batch", "batch=0", "=4", "batch=x"])
def test_a_cap_that_cannot_be_read_is_refused(cli, task, auditor, cap):
    auditor()
    printed = cli("audit", task, "--cap", cap, *CPU)
    assert printed.code == 2
    assert "--cap takes" in printed.err
