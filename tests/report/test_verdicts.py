"""Every verdict in words."""

from dataclasses import replace

import pytest

from warpsmith.core import (
    BuildFailed,
    Coverage,
    Crashed,
    Implausible,
    NotRunnable,
    OffShape,
    PrecisionClass,
    Ratio,
    Rejected,
    TimedOut,
    Track,
    Wrong,
)
from warpsmith.report.verdicts import evidence_text, verdict_text


@pytest.mark.parametrize(
    ("verdict", "phrase", "evidence"),
    [
        (Rejected(rule="no-torch", where="model_new.py:3", message="no"), "rejected: no-torch", "py:3"),
        (BuildFailed(log="a.cu(3): error: expected ;"), "does not compile", "expected ;"),
        (BuildFailed(log=""), "does not compile", "no message"),
        (Crashed(stage="forward", log="Traceback\nValueError: x"), "crashed (forward)", "ValueError: x"),
        (Wrong(what="values", message="at", error=1.0, allowed=1e-6), "wrong: values", "allowed 1.0e-06"),
        (Wrong(what="structure", message="2 outputs, not 1"), "wrong: structure", "2 outputs"),
        (TimedOut(stage="forward", limit_s=60.0), "timed out (forward)", "within 1 min 00 s"),
        (NotRunnable(device="cpu", reason="PTX"), "not runnable on cpu", "says nothing about the program"),
        (Implausible(message="under the floor"), "correct, time refused", "under the floor"),
    ],
)  # fmt: skip
def test_a_failure_has_a_phrase_and_its_evidence(verdict, phrase, evidence):
    assert verdict_text(verdict) == phrase
    assert evidence in evidence_text(verdict)


def test_a_pass_says_how_fast_and_how_that_is_known(make_passed):
    assert verdict_text(make_passed()) == "correct, faster"
    assert verdict_text(make_passed(candidate=120.0)) == "correct, cannot tell"
    assert verdict_text(make_passed(candidate=200.0)) == "correct, slower"
    assert verdict_text(make_passed(measured=False)) == "correct, modelled faster"
    assert "1.20× [1.18, 1.22]" in evidence_text(make_passed())
    assert "×" not in evidence_text(make_passed(measured=False)).replace("1.25× (modelled)", "")


def test_a_measured_pass_tells_both_clocks_and_what_it_could_not_see(make_passed):
    passed = make_passed()
    timing = replace(
        passed.timing,
        null=Ratio(centre=1.0, low=0.985, high=1.01),
        host_us=101.0,
        num_verified=6,
        num_input_sets=285,
        sm_mhz=(1965, 1980),
    )
    text = evidence_text(replace(passed, timing=timing))
    assert "null control 1.00× [0.98, 1.01]: this run cannot tell a difference of less than 1.5%" in text
    assert "101 µs a call by the judge's own clock, 100 µs by the program's" in text
    assert "6 outputs of timed calls compared, 285 input sets" in text
    assert "multiprocessors at 1965 to 1980 MHz" in text


def test_a_time_that_did_not_settle_is_said_to_tell_nothing(make_passed):
    passed = make_passed()
    shaky = replace(
        passed, timing=replace(passed.timing, trouble="the ratio scatters"), advice=("look here",)
    )
    assert verdict_text(shaky) == "correct, cannot tell"
    assert "nothing can be said of the speed: the ratio scatters" in evidence_text(shaky)
    assert evidence_text(shaky).endswith("look here")


def test_a_candidate_s_text_cannot_move_the_cursor():
    hostile = "\x1b[2J\x1b]0;title\x07bad\rgood\x08\x00 \udcff"
    text = evidence_text(Crashed(stage="load", log=hostile))
    assert "\x1b" not in text
    assert "\r" not in text
    assert "bad" in text
    text.encode()


def test_a_long_log_is_cut_to_its_end():
    text = evidence_text(BuildFailed(log="\n".join(f"line {n}" for n in range(10_000))))
    assert "line 9999" in text
    assert len(text.splitlines()) < 20


@pytest.mark.parametrize(
    ("precision", "phrase", "evidence"),
    [
        (PrecisionClass.FP32, "correct, faster", "errors are those of fp32"),
        (PrecisionClass.TF32, "correct in tf32, faster", "operands rounded to 10 bits"),
        (PrecisionClass.HALF, "correct in half precision, faster", "half precision"),
    ],
)
def test_the_speed_verdict_names_a_coarser_precision(make_passed, precision, phrase, evidence):
    passed = replace(make_passed(), precision=precision)
    assert verdict_text(passed) == phrase
    assert evidence in evidence_text(passed)


def test_how_it_did_at_another_size_is_told(make_passed):
    right = OffShape(scale=0.5, is_right=True, message="rows times 0.5")
    wrong = OffShape(scale=0.5, is_right=False, message="rows times 0.5: it crashes (ValueError)")
    text = evidence_text(replace(make_passed(), off_shapes=(right, wrong)))
    assert "at another size (rows times 0.5) it is right too" in text
    assert "shape-specialised: at another size it is not right (rows times 0.5: it crashes" in text


def test_a_pass_says_whose_kernels_did_the_work_and_what_it_got_through(make_passed):
    coverage = Coverage(
        track=Track.LIBRARIES, own_share=0.25, own_kernels=("mine",), library_kernels=("aten.mm.default",)
    )
    text = evidence_text(replace(make_passed(), coverage=coverage, gates=("rules", "build")))
    assert "track libraries: 1 own kernel, 25% of the device's time, beside aten.mm.default" in text
    assert "gates passed: rules, build" in text
