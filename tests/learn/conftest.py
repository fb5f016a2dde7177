"""What tests of training share: a tiny student, verdicts, and one thread."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from warpsmith.core import (
    Accuracy,
    BuildFailed,
    Candidate,
    Coverage,
    Passed,
    Provenance,
    Ratio,
    Series,
    Task,
    Timing,
    Track,
)

ACCURACY = Accuracy(error=1e-7, reference_error=1e-7, allowed=1e-6)
TASK = Task(task_id="twice", source="class Model: ...\n", provenance="test")


def ratio(centre, low=None, high=None):
    return Ratio(centre=centre, low=centre if low is None else low, high=centre if high is None else high)


def timing(eager=2.0, compiled=1.5, *, candidate_us=100.0, **changes):
    """A program `eager` times as fast as eager; `compiled` None: torch.compile fails on the reference."""
    made = Timing(
        provenance=Provenance.MEASURED,
        gpu="h200",
        candidate=Series(name="candidate", samples_us=(candidate_us,)),
        eager=Series(name="eager", samples_us=(candidate_us * eager,)),
        compile=None,
        against_eager=ratio(eager),
        against_compile=None if compiled is None else ratio(compiled),
        floor_us=candidate_us / 2,
        num_launches=1,
    )
    return replace(made, **changes)


def passed(*args, coverage=None, advice=(), resources=(), **how):
    return Passed(
        accuracy=ACCURACY,
        timing=timing(*args, **how),
        coverage=coverage,
        advice=advice,
        resources=resources,
    )


def coverage(share, own=("scale_kernel",), library=()):
    return Coverage(track=Track.PURE, own_share=share, own_kernels=own, library_kernels=library)


@pytest.fixture(scope="session")
def made():
    """How tests make verdicts: `made.passed(eager, compiled)`."""
    return SimpleNamespace(
        passed=passed,
        timing=timing,
        ratio=ratio,
        coverage=coverage,
        accuracy=ACCURACY,
        task=TASK,
        failed=BuildFailed(log="error"),
        program=lambda **files: Candidate.of(
            {"model_new.py": "x = 1\n", **{f"kernels/{k}.cu": v for k, v in files.items()}}
        ),
    )


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    """Several threads take longer than one on matrices this small."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def _on_the_cpu(request, monkeypatch):
    """Bit by bit the same is promised on one device; a test that wants a GPU says so."""
    import torch

    if request.node.get_closest_marker("gpu") is None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture(scope="session")
def base(tmp_path_factory):
    """The folder of a tiny model that has learnt nothing."""
    from warpsmith.learn.toy.tiny import write_tiny

    return write_tiny(tmp_path_factory.mktemp("base") / "tiny", hidden=32)


@pytest.fixture
def student(base):
    from warpsmith.learn.engines.local.student import student_of

    return student_of(base)


@pytest.fixture(scope="session")
def reader(tmp_path_factory):
    """A student that can read the agent's guide and tools: some thousands of tokens."""
    from warpsmith.agent import SPECS
    from warpsmith.agent.workspace.folder import skill_text
    from warpsmith.core.codec import to_json
    from warpsmith.learn.engines.local.student import student_of
    from warpsmith.learn.toy.tiny import write_tiny

    text = skill_text() + to_json(SPECS)
    folder = tmp_path_factory.mktemp("reader") / "tiny"
    return student_of(write_tiny(folder, hidden=16, context_tokens=8_192, text=text))
