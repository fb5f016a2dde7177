"""The planted kernels: each names a rule's topic, breaks no rule of the judge's, and is the task's own."""

import pytest
from benchmarks.bottlenecks import CASES, EXAMPLES

from warpsmith.agent.diagnosis.examiner import Examiner
from warpsmith.agent.diagnosis.figures import Name, Source
from warpsmith.agent.diagnosis.rules import RULES, Class
from warpsmith.core import Candidate, Passed
from warpsmith.device import select_device
from warpsmith.judge import JudgeConfig
from warpsmith.judge.gates import rules
from warpsmith.sandbox import pick
from warpsmith.tasks import load_task
from warpsmith.toolchain import Store, Toolchain

PROGRAMS = ("program", "mended")


def test_there_is_a_case_for_each_folder_and_a_rule_for_each_case():
    assert sorted(case.name for case in CASES) == sorted(
        path.parent.name for path in EXAMPLES.glob("*/task.py")
    )
    assert len(CASES) == 10
    assert {(case.kind, case.topic) for case in CASES} <= {(rule.kind, rule.topic) for rule in RULES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_is_a_task_and_two_programs_that_break_no_rule(case):
    folder = EXAMPLES / case.name
    assert load_task(str(folder / "task.py"), device_kind="cpu").scale < 1
    planted, mended = (Candidate.from_folder(folder / name) for name in PROGRAMS)
    assert rules.breach(planted) is None
    assert rules.breach(mended) is None
    assert planted.digest != mended.digest


@pytest.mark.slow
def test_on_the_cpu_device_many_launches_are_seen(tmp_path):
    folder, device, sandbox = EXAMPLES / "launch_bound", select_device("cpu"), pick("auto")
    toolchain = Toolchain(device, Store(tmp_path), sandbox)
    task = load_task(str(folder / "task.py"), scale=1 / 64, device_kind="cpu")
    config = JudgeConfig(keep_spare=False)
    with Examiner(task, device=device, sandbox=sandbox, toolchain=toolchain, config=config) as examiner:
        found = examiner.examine(Candidate.from_folder(folder / "program"))
        wrong = examiner.examine(Candidate.from_folder(EXAMPLES / "sync_in_loop" / "program"))
    assert isinstance(found.verdict, Passed)
    assert "examiner" not in found.verdict.gates
    assert found.classified.kind is Class.LAUNCH
    assert found.sheet.get(Name.LAUNCHES).source is Source.COUNTED
    assert found.sheet[Name.LAUNCHES] == 48
    assert found.sheet[Name.THREADS] == 4 * 1024
    assert found.sheet.get(Name.LANES).value is None
    assert "warps that diverge" in {one.topic for one in found.classified.unseen}
    assert not isinstance(wrong.verdict, Passed)
    assert wrong.classified is None
