"""What limits a program, by rules; and that each number says how it is known."""

from dataclasses import replace

import pytest

from warpsmith.agent.diagnosis.figures import Source
from warpsmith.agent.team.diagnosis import Bounds, diagnosed
from warpsmith.agent.team.nouns import Bottleneck, Outcome
from warpsmith.agent.team.outcomes import final_outcome, outcome_of
from warpsmith.core import (
    BuildFailed,
    Coverage,
    Crashed,
    Implausible,
    KernelResources,
    NotRunnable,
    Passed,
    Provenance,
    Ratio,
    Rejected,
    TimedOut,
    Track,
    Wrong,
)

BOUNDS = Bounds(launch_us=3.0, bytes_us=50.0, flops_us=1.0)
ARITHMETIC = Bounds(launch_us=3.0, bytes_us=1.0, flops_us=50.0)
SPILLING = KernelResources(
    kernel="k", arch="sm_90a", registers=255, spill_bytes=64, shared_bytes=0, stack_bytes=0
)


@pytest.fixture
def passed(say):
    def made(time_us, resources=(), coverage=None, **timing):
        found = replace(say.timing(time_us), **timing)  # its floor is 50 us
        return Passed(accuracy=say.accuracy, timing=found, resources=resources, coverage=coverage)

    return made


@pytest.mark.parametrize(
    ("time_us", "facts", "bounds", "bottleneck"),
    [
        (52.0, {}, BOUNDS, Bottleneck.NONE),
        (5.0, {"floor_us": 1.0}, BOUNDS, Bottleneck.NONE),
        (80.0, {"host_us": 200.0}, BOUNDS, Bottleneck.HOST),
        (80.0, {"num_launches": 12}, BOUNDS, Bottleneck.LAUNCH),
        (80.0, {"resources": (SPILLING,)}, BOUNDS, Bottleneck.LATENCY),
        (80.0, {}, ARITHMETIC, Bottleneck.COMPUTE),
        (150.0, {}, ARITHMETIC, Bottleneck.COMPUTE),
        (150.0, {"num_launches": 3}, BOUNDS, Bottleneck.MEMORY),
        (80.0, {}, BOUNDS, Bottleneck.MEMORY),
        (150.0, {}, BOUNDS, Bottleneck.LATENCY),
        (150.0, {"num_launches": None}, Bounds(launch_us=3.0), Bottleneck.LATENCY),
    ],
)
def test_a_right_program_is_limited_by_one_thing(passed, time_us, facts, bounds, bottleneck):
    found = diagnosed(passed(time_us, **facts), bounds)
    assert found.bottleneck is bottleneck
    assert found.suggestion
    assert "\n" not in found.suggestion


def sources(diagnosis):
    return {figure.name: figure.source for figure in diagnosis.evidence}


def test_each_number_says_how_it_is_known(passed):
    coverage = Coverage(track=Track.PURE, own_share=1.0, own_kernels=("k",), library_kernels=())
    found = sources(diagnosed(passed(80.0, coverage=coverage, host_us=90.0), BOUNDS))
    assert found["program's time"] is Source.MEASURED
    assert found["floor"] is found["time over floor"] is Source.DERIVED
    assert found["time of its launches alone"] is Source.MODELLED
    assert found["own kernels' share of device time"] is found["host's time a call"] is Source.MEASURED
    assert found["bytes spilled"] is Source.UNAVAILABLE


def test_a_modelled_time_is_never_called_measured(passed):
    found = sources(diagnosed(passed(80.0, provenance=Provenance.MODELLED), BOUNDS))
    for name in ("program's time", "eager's time", "torch.compile's time", "time over floor"):
        assert found[name] is Source.MODELLED
    assert found["host's time a call"] is Source.UNAVAILABLE


def test_what_is_unavailable_has_no_value(passed):
    for figure in diagnosed(passed(80.0, compile=None, num_launches=None), BOUNDS).evidence:
        assert (figure.value is None) == (figure.source is Source.UNAVAILABLE)
        assert str(figure).startswith(f"{figure.name}: unavailable") == (figure.value is None)


@pytest.mark.parametrize(
    ("verdict", "outcome", "bottleneck"),
    [
        (BuildFailed(log="a.cu(3): error: identifier x is undefined"), Outcome.NOT_BUILT, Bottleneck.BUILD),
        (BuildFailed(log=""), Outcome.NOT_BUILT, Bottleneck.BUILD),
        (
            Wrong(what="values", message="at [0]", error=0.5, allowed=1e-6),
            Outcome.WRONG,
            Bottleneck.CORRECTNESS,
        ),
        (Crashed(stage="forward", log="illegal memory access"), Outcome.WRONG, Bottleneck.CORRECTNESS),
        (Crashed(stage="load", log=""), Outcome.WRONG, Bottleneck.CORRECTNESS),
        (TimedOut(stage="forward", limit_s=60.0), Outcome.WRONG, Bottleneck.CORRECTNESS),
        (Rejected(rule="torch", where="a.py:1", message="no"), Outcome.WRONG, Bottleneck.CORRECTNESS),
        (NotRunnable(device="cpu", reason="inline PTX"), Outcome.WRONG, Bottleneck.CORRECTNESS),
        (Implausible(message="under the floor"), Outcome.WRONG, Bottleneck.CORRECTNESS),
    ],
)
def test_a_failure_is_told_with_its_evidence_and_one_remedy(verdict, outcome, bottleneck):
    found = diagnosed(verdict, BOUNDS)
    assert outcome_of(verdict, 1.0) is outcome
    assert found.bottleneck is bottleneck
    assert found.finding
    assert found.suggestion
    assert "hint:" not in found.finding
    assert final_outcome(verdict) is not Outcome.GOOD


def test_a_target_is_over_the_better_baseline_and_a_sub_task_s_own_over_eager(passed):
    verdict = passed(150.0, against_compile=Ratio(centre=0.9, low=0.9, high=0.9))
    assert outcome_of(verdict, 1.0) is Outcome.SLOW
    assert outcome_of(verdict, 1.0, own_target=1.2) is Outcome.GOOD
    assert outcome_of(verdict, 1.0, own_target=2.0) is Outcome.SLOW


@pytest.mark.parametrize(
    ("ratio", "outcome"),
    [((1.2, 1.1, 1.3), Outcome.GOOD), ((0.98, 0.9, 1.1), Outcome.GOOD), ((0.9, 0.8, 0.95), Outcome.SLOW)],
)
def test_the_final_test_fails_only_if_it_is_slower_for_certain(passed, ratio, outcome):
    centre, low, high = ratio
    verdict = passed(100.0, against_eager=Ratio(centre=centre, low=low, high=high))
    assert final_outcome(verdict) is outcome


def test_a_model_tells_no_percent_from_another(passed):
    near = Ratio(centre=0.995, low=0.995, high=0.995)
    modelled = passed(150.0, against_compile=near, provenance=Provenance.MODELLED)
    assert outcome_of(modelled, 1.0) is Outcome.GOOD
    assert outcome_of(passed(150.0, against_compile=near), 1.0) is Outcome.SLOW
