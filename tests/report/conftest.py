"""Verdicts and run folders to report on. The folders are written by the agent's own record."""

import pytest

from warpsmith.agent.events import Finished, Improved, Judged, Said, Started
from warpsmith.agent.runs.record import Record
from warpsmith.core import (
    Accuracy,
    Candidate,
    Cost,
    KernelResources,
    Message,
    Passed,
    Provenance,
    Ratio,
    Role,
    Series,
    Solution,
    StopReason,
    Task,
    Timing,
    ToolCall,
)

TASK = Task(task_id="rmsnorm", source="class Model: ...\n", provenance="/tasks/rmsnorm.py", scale=1 / 64)
CANDIDATE = Candidate.of(
    {
        "model_new.py": "import cuda_extension\n",
        "kernels/rmsnorm.cu": (
            "// One block a row: sums squares in registers,\n// then scales.\n\n#include <cuda_runtime.h>\n"
            "__global__ void __launch_bounds__(256) scale_rows(const float* x) {}\n"
        ),
    }
)
ENVIRONMENT = {"device": "cpu", "arch": "sm_90a", "torch": "2.13.0"}


def ratio(centre, spread=0.02):
    return Ratio(centre=centre, low=centre - spread, high=centre + spread)


def timing(*, eager=143.0, compiled=120.0, candidate=100.0, measured=True):
    spread = 0.02 if measured else 0.0
    return Timing(
        provenance=Provenance.MEASURED if measured else Provenance.MODELLED,
        gpu="NVIDIA H200",
        candidate=Series(name="candidate", samples_us=(candidate,) * 3),
        eager=Series(name="eager", samples_us=(eager,) * 3),
        compile=None if compiled is None else Series(name="compile", samples_us=(compiled,) * 3),
        against_eager=ratio(eager / candidate, spread),
        against_compile=None if compiled is None else ratio(compiled / candidate, spread),
        floor_us=80.0,
        num_launches=1,
    )


@pytest.fixture
def make_timing():
    return timing


@pytest.fixture
def make_passed():
    def make(**kwargs):
        return Passed(
            accuracy=Accuracy(error=3.1e-7, reference_error=1e-7, allowed=1.6e-6),
            resources=(
                KernelResources(
                    kernel="scale_rows",
                    arch="sm_90a",
                    registers=32,
                    spill_bytes=0,
                    shared_bytes=2048,
                    stack_bytes=0,
                ),
            ),
            timing=timing(**kwargs),
        )

    return make


@pytest.fixture
def write_run(make_passed):
    """Writes a run folder: one turn, and a program with `verdict` unless it is None."""

    def write(folder, *, verdict=..., candidate=CANDIDATE, finished=True):
        verdict = make_passed() if verdict is ... else verdict
        best = None if verdict is None else Solution(candidate=candidate, verdict=verdict)
        call = ToolCall(call_id="1", tool="write", arguments={"path": "kernels/rmsnorm.cu", "text": "…"})
        with Record.create(folder, TASK) as record:
            record.on_event(
                Started(
                    task_id=TASK.task_id,
                    task_digest=TASK.digest,
                    provenance=TASK.provenance,
                    scale=TASK.scale,
                    policy="builtin",
                    device="CPU standing in for H200",
                    environment=ENVIRONMENT,
                )
            )
            reply = Message(role=Role.ASSISTANT, text="I begin simply.", tool_calls=(call,))
            record.on_event(Said(message=reply, cost=Cost(wall_s=1.0)))
            record.on_event(
                Said(message=Message(role=Role.TOOL, text="done", call_id="1"), cost=Cost(wall_s=2.0))
            )
            if best is not None:
                record.on_event(Judged(tool="profile", digest=candidate.digest, verdict=verdict))
                record.on_event(Improved(solution=best))
            if finished:
                cost = Cost(wall_s=185.0)
                record.on_event(Finished(stop=StopReason.FINISHED, cost=cost, num_turns=1, best=best))
        return folder

    return write
