"""Which rule speaks, for which figures; and that one without its figures is blind and says so."""

from dataclasses import fields

import pytest

from warpsmith.agent.diagnosis.classifier import classify, unseen
from warpsmith.agent.diagnosis.figures import Figure, Name, Sheet, Source, figure, missing
from warpsmith.agent.diagnosis.rules import RULES, Class
from warpsmith.agent.diagnosis.thresholds import THRESHOLDS

# A right program of one launch, far from its floor, in whose kernel nothing is wrong.
PLAIN = {
    Name.TIME: 500.0,
    Name.TIMES_FLOOR: 4.0,
    Name.FLOOR_BYTES: 125.0,
    Name.FLOOR_FLOPS: 1.0,
    Name.LEAST_BYTES: 6e8,
    Name.LAUNCHES: 1.0,
    Name.LAUNCH_SHARE: 0.006,
    Name.HOST_SHARE: 1.0,
    Name.THREADS: 1e6,
    Name.SPILLED: 0.0,
    Name.COPIES: 0.0,
    Name.COPIED: 0.0,
    Name.COPY_TIME: 0.0,
    Name.KERNEL_TIME: 490.0,
    Name.IDLE: 0.0,
    Name.SYNCS: 0.0,
    Name.USED_LOADED: 100.0,
    Name.USED_STORED: 100.0,
    Name.SECTORS_LOADED: 4.0,
    Name.SECTORS_STORED: 4.0,
    Name.CONFLICTS: 0.0,
    Name.FP64: 0.0,
    Name.LANES: 32.0,
    Name.SM: 20.0,
    Name.MEMORY: 40.0,
    Name.OCCUPANCY: 50.0,
    Name.STALL: 10.0,
}


def sheet(changes, source=Source.MEASURED):
    figures = {**PLAIN, **changes}
    return Sheet(figure(name, value, "", source) for name, value in figures.items())


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({Name.USED_LOADED: 12.5}, Class.MEMORY, "Coalesce the loads"),
        ({Name.USED_STORED: 12.5}, Class.MEMORY, "Coalesce the stores"),
        ({Name.CONFLICTS: 90.0}, Class.MEMORY, "pad"),
        ({Name.SPILLED: 400.0}, Class.LATENCY, "fewer values"),
        ({Name.THREADS: 2048.0}, Class.LATENCY, "more blocks"),
        ({Name.LANES: 3.0, Name.SM: 90.0}, Class.COMPUTE, "divergence"),
        ({Name.LAUNCHES: 4.0, Name.LAUNCH_SHARE: 0.02, Name.MEMORY: 90.0}, Class.MEMORY, "fuse"),
        ({Name.LAUNCHES: 48.0, Name.LAUNCH_SHARE: 1.2}, Class.LAUNCH, "Fuse kernels"),
        ({Name.FP64: 60.0, Name.SM: 90.0}, Class.COMPUTE, "fp32"),
        ({Name.SYNCS: 32.0, Name.IDLE: 60.0, Name.LAUNCHES: 32.0}, Class.HOST, "synchronization"),
        ({Name.COPIES: 2.0, Name.COPIED: 1e5, Name.IDLE: 40.0, Name.SYNCS: 2.0}, Class.HOST, "copy nothing"),
        ({Name.COPIES: 1.0, Name.COPIED: 1e9, Name.COPY_TIME: 400.0}, Class.HOST, "copy nothing"),
        ({Name.HOST_SHARE: 3.0}, Class.HOST, "Python"),
        ({Name.SM: 85.0}, Class.COMPUTE, "fewer instructions"),
        ({Name.MEMORY: 85.0}, Class.MEMORY, "fewer bytes"),
        ({Name.FLOOR_FLOPS: 200.0}, Class.COMPUTE, "tensor cores"),
        ({Name.FLOOR_FLOPS: 200.0, Name.TIMES_FLOOR: 1.5}, Class.COMPUTE, "larger tiles"),
        ({}, Class.LATENCY, "in flight"),
        ({Name.TIMES_FLOOR: 1.05}, Class.NONE, "Leave it"),
        ({Name.LAUNCH_SHARE: 0.7}, Class.NONE, "Leave it"),
        (
            {Name.USED_LOADED: 0.0, Name.CONFLICTS: 10.0, Name.SYNCS: 1.0, Name.IDLE: 3.0},
            Class.LATENCY,
            "in flight",
        ),
        ({Name.THREADS: 256.0, Name.LEAST_BYTES: 2048.0}, Class.LATENCY, "in flight"),
        ({Name.SPILLED: 400.0, Name.TIMES_FLOOR: 1.05}, Class.NONE, "Leave it"),
    ],
)
def test_one_rule_speaks(changes, kind, words):
    found = classify(sheet(changes))
    assert found.kind is kind
    assert words in found.suggestion
    assert "\n" not in found.suggestion
    assert found.unseen == ()


def test_the_evidence_is_what_the_rule_looked_at():
    found = classify(sheet({Name.CONFLICTS: 90.0}))
    assert [(one.name, one.value) for one in found.evidence] == [(Name.CONFLICTS, 90.0)]


def test_a_modelled_time_at_its_floor_proves_nothing_of_the_kernel():
    at_floor = {Name.TIMES_FLOOR: 1.0}
    assert "measure it on a GPU" in classify(sheet(at_floor, Source.MODELLED)).suggestion
    assert classify(sheet({**at_floor, Name.SPILLED: 64.0}, Source.MODELLED)).kind is Class.LATENCY


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.evidence], ids=lambda rule: rule.finding[:40]
)
def test_a_rule_without_a_figure_is_blind(rule):
    for name in rule.evidence:
        without = Sheet(one for one in sheet({}) if one.name is not name)
        assert classify(without).suggestion  # nothing raises, and something is said
        others = [one for one in RULES if one.topic == rule.topic and name not in one.evidence]
        assert (rule.topic in {one.topic for one in unseen(without)}) == (not others)


def test_what_is_unseen_says_why_and_what_would_show_it():
    lacking = missing([Name.LANES, Name.FP64], "ncu is not installed", "install it")
    given = Sheet([*(one for one in sheet({}) if one.name not in (Name.LANES, Name.FP64)), *lacking])
    found = {one.topic: one for one in classify(given).unseen}
    assert set(found) == {"warps that diverge", "arithmetic in double precision"}
    assert found["warps that diverge"].why == "ncu is not installed"
    assert found["warps that diverge"].fix == "install it"


def test_nothing_known_is_still_an_answer():
    found = classify(Sheet())
    assert found.kind is Class.LATENCY
    assert len(found.unseen) == len({rule.topic for rule in RULES}) - 1


def test_every_threshold_is_used_and_a_number():
    assert all(isinstance(getattr(THRESHOLDS, one.name), float) for one in fields(THRESHOLDS))


def test_of_two_figures_the_one_with_a_value_stands():
    gone = Figure(name=Name.FP64, value=None, unit="", source=Source.UNAVAILABLE, note="no counters")
    static = figure(Name.FP64, 12.0, "%", Source.COUNTED)
    assert Sheet([gone, static])[Name.FP64] == 12.0
    assert Sheet([static, gone])[Name.FP64] == 12.0
    assert (Sheet([gone]) | Sheet([static]))[Name.FP64] == 12.0
    with pytest.raises(LookupError, match="fp64"):
        Sheet([gone])[Name.FP64]
    assert str(gone).endswith("unavailable (no counters)")
    assert str(static) == "fp64, of fp32 and fp64 arithmetic: 12 % (counted)"
