"""What a policy is told of a verdict: the kind, the evidence, and never a modelled time as a measured one."""

import dataclasses
from pathlib import Path

import pytest

from warpsmith.agent.feedback import build_text, verdict_text
from warpsmith.agent.tools.base import shortened
from warpsmith.core import (
    BuildFailed,
    Crashed,
    Implausible,
    KernelResources,
    NotRunnable,
    Passed,
    Provenance,
    Rejected,
    TimedOut,
    Wrong,
)
from warpsmith.toolchain import Build, Launcher, Parameter, ParameterKind

KERNEL = KernelResources(
    kernel="norm", arch="sm_90a", registers=40, spill_bytes=16, shared_bytes=128, stack_bytes=0
)


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        (
            Wrong(what="values", message="output 0 at [3]: 2.0, expected 4.0", error=0.5, allowed=1e-6),
            ["Wrong (values): output 0 at [3]", "error 0.5, allowed 1e-06", "hint: Check index"],
        ),
        (Wrong(what="weights", message="no weight"), ["Wrong (weights)", "state_dict is copied"]),
        (Wrong(what="something new", message="odd"), ["Wrong (something new): odd"]),
        (
            BuildFailed(log='a.cu(3): error: identifier "x" is undefined'),
            ["Does not compile:\na.cu(3)", "hint: Include"],
        ),
        (BuildFailed(log=""), ["(no message)"]),
        (Crashed(stage="forward", log="CUDA error: misaligned address"), ["Crashed (forward)", "alignment"]),
        (TimedOut(stage="forward", limit_s=60.0), ["Timed out (forward): did not end within 60 s", "hint:"]),
        (
            Rejected(rule="no-torch", where="model_new.py:7", message="torch.exp"),
            ["rule no-torch at model_new.py:7"],
        ),
        (NotRunnable(device="cpu", reason="inline PTX"), ["Not runnable on cpu: inline PTX", "hint:"]),
        (Implausible(message="faster than the floor"), ["its time is refused: faster than the floor"]),
    ],
)
def test_a_verdict_is_told_with_its_evidence(verdict, told):
    text = verdict_text(verdict)
    assert all(part in text for part in told), text


def test_a_measured_time_is_told_with_interval_floor_and_resources(say):
    text = verdict_text(Passed(accuracy=say.accuracy, timing=say.timing(100.0), resources=(KERNEL,)))
    assert "Measured on h200: candidate 100.0 us, eager 200.0 us, torch.compile 200.0 us." in text
    assert "torch.compile / candidate = 2.000 [1.950, 2.050]; 1.05 is reached" in text
    assert "floor 50.0 us, candidate at 2.00 times that; 1 launches a call" in text
    assert "kernel norm (sm_90a): 40 registers, 16 bytes spilled, 128 bytes shared" in text
    assert "hint: registers spill" in text


def test_a_modelled_time_is_never_told_as_measured(say):
    modelled = dataclasses.replace(say.timing(100.0), provenance=Provenance.MODELLED)
    text = verdict_text(Passed(accuracy=say.accuracy, timing=modelled))
    assert "Modelled for h200 (no GPU was used)" in text
    assert "easured" not in text
    assert "2.000 (modelled)" in text


def test_a_slow_program_is_told_that_the_goal_is_not_reached(say):
    text = verdict_text(Passed(accuracy=say.accuracy, timing=say.timing(195.0)))
    assert "1.05 is not reached" in text


def test_a_failed_torch_compile_is_told(say):
    timing = dataclasses.replace(say.timing(100.0), compile=None, against_compile=None)
    assert "torch.compile failed." in verdict_text(Passed(accuracy=say.accuracy, timing=timing))


def test_a_long_log_keeps_its_first_errors_and_its_end():
    text = verdict_text(BuildFailed(log="first error\n" + "noise\n" * 5000 + "last line"))
    assert "first error" in text
    assert "last line" in text
    assert len(text) < 4_500


def test_a_build_lists_launchers_kernels_and_warnings():
    launcher = Launcher(
        name="norm",
        parameters=(Parameter(name="x", kind=ParameterKind.POINTER, ctype="float", dtype="float32"),),
    )
    build = Build(
        folder=Path(),
        launchers=(launcher,),
        resources=(KERNEL,),
        log="a.cu(7): warning: unused variable\nptxas info",
        is_cached=False,
        wall_s=1.25,
    )
    lines = build_text(build).splitlines()
    assert lines[:3] == ["compiled (1.2 s)", "launchers:", "  cuda_extension.norm(x)"]
    assert "warning: unused variable" in lines[-1]
    assert build_text(dataclasses.replace(build, is_cached=True)).startswith("compiled (kept from before)")


@pytest.mark.parametrize(("length", "is_cut"), [(0, False), (6000, False), (6001, True), (10**6, True)])
def test_long_text_is_cut_in_its_middle(length, is_cut):
    text = shortened("a" * length)
    assert ("left out" in text) == is_cut
    assert len(text) <= 6_100
