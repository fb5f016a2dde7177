"""Each failure has a name of its own."""

import pytest

from warpsmith.core import BuildFailed, Crashed, NotRunnable, Rejected, TimedOut, Wrong
from warpsmith.learn.answering.fate import Fate, fate_of, fate_of_flaw, histogram
from warpsmith.learn.answering.reply import Flaw


@pytest.mark.parametrize(
    ("verdict", "fate"),
    [
        (Rejected(rule="torch", where="model_new.py:1", message="no"), Fate.REFUSED),
        (BuildFailed(log="error"), Fate.BUILD_ERROR),
        (Crashed(stage="forward", log="boom"), Fate.CRASH),
        (TimedOut(stage="forward", limit_s=1.0), Fate.TIMEOUT),
        (Wrong(what="values", message="off"), Fate.WRONG),
        (NotRunnable(device="cpu", reason="ptx"), Fate.NOT_RUNNABLE),
    ],
)
def test_a_verdict_has_a_name(verdict, fate, talk):
    assert fate_of(talk.program(), verdict) is fate


def test_a_call_of_what_is_not_exported_is_told_apart(talk):
    crash = Crashed(stage="forward", log="has no attribute")
    assert fate_of(talk.program("added"), crash) is Fate.WRONG_NAME
    assert fate_of(talk.program("added"), Wrong(what="values", message="")) is Fate.WRONG
    as_status = 'extern "C" cudaError_t add(const float* x, cudaStream_t s) { return cudaSuccess; }'
    assert fate_of(talk.program("add", kernel=as_status), crash) is Fate.CRASH
    assert fate_of(talk.program("add", kernel="void add() {}"), crash) is Fate.WRONG_NAME


def test_faster_begins_at_five_per_cent(made, talk):
    assert fate_of(talk.program(), made.passed(1.06)) is Fate.FASTER
    assert fate_of(talk.program(), made.passed(1.05)) is Fate.CORRECT
    assert fate_of(talk.program(), made.passed(0.2)) is Fate.CORRECT


@pytest.mark.parametrize("flaw", Flaw)
def test_every_flaw_is_a_fate(flaw):
    assert fate_of_flaw(flaw).value == flaw.value


def test_a_histogram_goes_from_the_worst_to_the_best():
    fates = [Fate.FASTER, Fate.WRONG, Fate.NO_FILE, Fate.WRONG]
    assert list(histogram(fates).items()) == [(Fate.NO_FILE, 1), (Fate.WRONG, 2), (Fate.FASTER, 1)]
