"""The clock's figures and the profilers', on one sheet."""

import pytest

from warpsmith.agent.diagnosis import torch_trace
from warpsmith.agent.diagnosis.classifier import classify
from warpsmith.agent.diagnosis.examiner import sheet_of
from warpsmith.agent.diagnosis.figures import Name, Source
from warpsmith.agent.diagnosis.ladder import Climb
from warpsmith.agent.diagnosis.reading import of_trace
from warpsmith.agent.diagnosis.rules import Class
from warpsmith.agent.diagnosis.timing import Bounds, bounds_of
from warpsmith.agent.team.diagnosis import diagnosed
from warpsmith.agent.team.nouns import Bottleneck
from warpsmith.core import Accuracy, Passed, Provenance, Ratio, Series, Timing
from warpsmith.device.gpus import GPUS
from warpsmith.judge.clock.floor import Floor

BOUNDS = Bounds(launch_us=3.0, bytes_us=50.0, flops_us=0.0, least_bytes=2.4e8)


@pytest.fixture
def passed():
    def made(num_launches=None):
        ratio = Ratio(centre=1.0, low=1.0, high=1.0)
        timing = Timing(
            provenance=Provenance.MEASURED,
            gpu="a GPU",
            candidate=Series(name="candidate", samples_us=(200.0,)),
            eager=Series(name="eager", samples_us=(200.0,)),
            compile=None,
            against_eager=ratio,
            against_compile=None,
            floor_us=50.0,
            num_launches=num_launches,
        )
        return Passed(accuracy=Accuracy(error=0.0, reference_error=0.0, allowed=1e-6), timing=timing)

    return made


@pytest.fixture
def seen(chrome):
    trace = torch_trace.read(chrome())
    return Climb(trace=trace, figures=list(of_trace(trace)))


def test_launches_that_the_clock_could_not_count_are_the_trace_s(passed, seen):
    verdict = passed()
    sheet = sheet_of(verdict, verdict.timing, BOUNDS, seen)
    assert (sheet[Name.LAUNCHES], sheet[Name.LAUNCHING]) == (2.0, 6.0)
    assert sheet.get(Name.LAUNCHES).source is Source.MEASURED
    assert sheet.get(Name.LAUNCHING).source is Source.MODELLED


def test_launches_that_the_clock_counted_stand(passed, seen):
    verdict = passed(num_launches=3)
    sheet = sheet_of(verdict, verdict.timing, BOUNDS, seen)
    assert (sheet[Name.LAUNCHES], sheet.get(Name.LAUNCHES).source) == (3.0, Source.COUNTED)


def test_a_copy_to_the_host_in_each_call_is_what_limits(passed, seen):
    verdict = passed()
    found = classify(sheet_of(verdict, verdict.timing, BOUNDS, seen))
    assert found.kind is Class.LATENCY  # 384 threads for 240 MB come before it
    wide = [one for one in seen.figures if one.name is not Name.THREADS]
    found = classify(sheet_of(verdict, verdict.timing, BOUNDS, Climb(figures=wide)))
    assert (found.kind, found.topic) == (Class.HOST, "copies between host and device in a call")


def test_a_team_hears_the_same(passed, seen):
    verdict = passed()
    alone, together = diagnosed(verdict, BOUNDS), diagnosed(verdict, BOUNDS, seen.sheet)
    assert alone.bottleneck is Bottleneck.LATENCY
    assert together.suggestion == classify(sheet_of(verdict, verdict.timing, BOUNDS, seen)).suggestion
    assert {one.name for one in together.evidence} > {one.name for one in alone.evidence}


def test_bounds_are_the_floor_s():
    bounds = bounds_of(Floor(bytes_us=100.0, flops_us=20.0, certain_us=90.0), GPUS["h200"])
    assert bounds.least_bytes == pytest.approx(4.8e8)
    assert (bounds.bytes_us, bounds.flops_us, bounds.launch_us) == (100.0, 20.0, 3.0)
