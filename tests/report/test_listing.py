"""Which runs a list shows, and in what order."""

from pathlib import Path

import pytest

from warpsmith.core import Provenance, Ratio, UsageError
from warpsmith.report.listing import Entry, Wanted
from warpsmith.report.runs import RunState


def entry(name, **fields):
    return Entry(folder=Path(name), **{"state": RunState.FINISHED, **fields})


FAST = entry(
    "c-fast",
    task_id="softmax_rows",
    policy="openai:small",
    kind="Passed",
    provenance=Provenance.MEASURED,
    candidate_us=10.0,
    ratio=Ratio(centre=1.2, low=1.1, high=1.3),
    started_at="2030-01-02T10:00:00.000+00:00",
)
SLOW = entry(
    "b-slow",
    task_id="softmax",
    policy="builtin",
    kind="Passed",
    provenance=Provenance.MEASURED,
    candidate_us=20.0,
    ratio=Ratio(centre=1.9, low=1.8, high=2.0),
    started_at="2030-01-01T10:00:00.000+00:00",
)
MODELLED = entry(
    "d-modelled",
    task_id="relu",
    policy="builtin",
    kind="Passed",
    provenance=Provenance.MODELLED,
    candidate_us=1.0,
    ratio=Ratio(centre=9.0, low=9.0, high=9.0),
    started_at="2030-01-03T10:00:00.000+00:00",
)
WRONG = entry("e-wrong", task_id="relu", policy="builtin", kind="Wrong", state=RunState.CUT_SHORT)
BROKEN = Entry(folder=Path("a-broken"), state=None, reason="damaged")
ALL = (FAST, SLOW, MODELLED, WRONG, BROKEN)


def names(**wanted):
    return [one.folder.name[0] for one in Wanted(**wanted).of(ALL)]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, "abcde"),
        ({"task": "softmax"}, "bc"),
        ({"task": "softmax_*"}, "c"),
        ({"task": "gelu"}, ""),
        ({"policy": "openai"}, "c"),
        ({"state": "finished"}, "bcd"),
        ({"state": "cut-short"}, "e"),
        ({"state": "broken"}, "a"),
        ({"is_correct": True}, "bcd"),
        ({"is_correct": False}, "ae"),
        ({"task": "relu", "is_correct": True}, "d"),
    ],
)
def test_runs_are_chosen_by_what_they_are(wanted, found):
    assert "".join(names(**wanted)) == found


@pytest.mark.parametrize(
    ("order", "found"),
    [("name", "abcde"), ("time", "cbd"), ("ratio", "bcd"), ("started", "dcb"), ("policy", "adebc")],
)
def test_an_order_puts_the_best_first_and_what_has_none_last(order, found):
    assert "".join(names(order=order)).startswith(found)


def test_a_modelled_time_never_comes_before_a_measured_one():
    assert names(order="time").index("d") > names(order="time").index("b")
    assert names(order="ratio").index("d") > names(order="ratio").index("b")


@pytest.mark.parametrize("wanted", [{"state": "lost"}, {"order": "colour"}])
def test_what_there_is_not_is_refused_with_the_choices(wanted):
    with pytest.raises(UsageError, match="choose one of"):
        Wanted(**wanted)
