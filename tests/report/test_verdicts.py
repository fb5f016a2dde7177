"""Every verdict in words."""

import pytest

from warpsmith.core import (
    BuildFailed,
    Crashed,
    Implausible,
    NotRunnable,
    Rejected,
    TimedOut,
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
