"""Candidates that take their process with them, and what is left behind: real processes and sandbox."""

import psutil
import pytest

from warpsmith.core import Crashed, Passed, Task, TaskError, TimedOut
from warpsmith.judge import Judge, JudgeConfig, TimeLimits

LIMITS = TimeLimits(forward_s=4.0)
CORRECT = """        y = torch.empty_like(x)
        cuda_extension.scaled(x, self.weight, y, x.numel(), x.shape[1])
"""


@pytest.fixture(scope="module")
def judge(scaled_source, device, sandbox, toolchain, tmp_path_factory):
    config = JudgeConfig(limits=LIMITS, scratch=tmp_path_factory.mktemp("scratch"))
    task = Task(task_id="scaled", source=scaled_source, provenance="tests")
    with Judge(task, device=device, sandbox=sandbox, toolchain=toolchain, config=config) as judge:
        yield judge


def test_a_correct_candidate_passes_in_a_process_of_its_own(judge, scaled):
    assert isinstance(judge.measure(scaled()), Passed)


@pytest.mark.parametrize(
    ("forward", "says"),
    [
        (CORRECT + "        exit(0)\n", "ended with exit code 0 before answering"),
        (
            CORRECT + "        cuda_extension.strayed(y)\n",
            "killed by SIGSEGV (an access outside of its memory)",
        ),
    ],
)
def test_a_candidate_that_ends_its_process_crashed(judge, scaled, forward, says):
    verdict = judge.verify(scaled(forward))
    assert isinstance(verdict, Crashed), verdict
    assert verdict.stage == "forward"
    assert says in verdict.log


@pytest.mark.slow
def test_an_endless_loop_is_timed_out(judge, scaled):
    verdict = judge.verify(scaled("        while True: pass\n"))
    assert verdict == TimedOut(stage="forward", limit_s=LIMITS.forward_s)


@pytest.mark.slow
def test_memory_without_end_is_a_crash_that_names_the_limit(
    scaled_source, device, sandbox, toolchain, scaled
):
    config = JudgeConfig(memory_bytes=1 << 30, keep_spare=False)
    task = Task(task_id="scaled", source=scaled_source, provenance="tests")
    greedy = "        kept = []\n        while True: kept.append(torch.zeros(1 << 24))\n"
    with Judge(task, device=device, sandbox=sandbox, toolchain=toolchain, config=config) as judge:
        verdict = judge.verify(scaled(greedy))
    assert isinstance(verdict, Crashed)
    assert "limit of 1.0 GiB" in verdict.log


def test_nothing_is_left_of_a_judge(scaled_source, device, sandbox, toolchain, tmp_path):
    config = JudgeConfig(scratch=tmp_path)
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    task = Task(
        task_id="broken", source=scaled_source.replace("class Model(", "class Modell("), provenance="tests"
    )
    with (
        pytest.raises(
            TaskError, match="broken: the task defines no Model; a task's file defines class Model"
        ),
        Judge(task, device=device, sandbox=sandbox, toolchain=toolchain, config=config),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
    assert {process.pid for process in psutil.Process().children(recursive=True)} <= before
