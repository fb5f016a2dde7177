"""What counts as caught, which gate it was, and what the table and the README say of it."""

import pytest

from warpsmith.core import (
    Accuracy,
    BuildFailed,
    Candidate,
    Crashed,
    Implausible,
    NotRunnable,
    Passed,
    Rejected,
    TimedOut,
    UsageError,
    Wrong,
)
from warpsmith.redteam import Case, Kind, Outcome, State, gates_of
from warpsmith.report.redteam import BEGIN, END, Summary, family_table, replace_table, state_text

PASSED = Passed(accuracy=Accuracy(error=1e-7, reference_error=1e-7, allowed=1e-6))
WRONG = Wrong(what="values", message="at [0]")
NOT_HERE = NotRunnable(device="cpu", reason="inline PTX")


def case(kind=Kind.CHEAT, caught_by=("numbers",), name="values-zeros"):
    return Case(
        name=name,
        title="Returns zeros",
        tries="It returns zeros.",
        task="axpby",
        kind=kind,
        caught_by=caught_by if kind is Kind.CHEAT else (),
        needs=None,
        options=(),
        candidate=Candidate.of({"model_new.py": ""}),
    )


def outcome(verdict=None, **fields):
    return Outcome(case=case(**fields), verdict=verdict, wall_s=1.0)


@pytest.mark.parametrize(
    ("verdict", "gate"),
    [
        (Rejected(rule="import", where="model_new.py:1", message=""), "rules"),
        (Rejected(rule="native-code", where="dlsym", message=""), "symbols"),
        (Rejected(rule="torch-compute", where="model_new.py:9", message=""), "forward"),
        (Rejected(rule="own-kernels", where="model_new.py", message=""), "coverage"),
        (Rejected(rule="flags", where="model_new.py", message=""), "load"),
        (BuildFailed(log=""), "build"),
        (Crashed(stage="load", log=""), "load"),
        (TimedOut(stage="forward", limit_s=1), "forward"),
        (Crashed(stage="clock", log=""), "clock"),
        (WRONG, "numbers"),
        (Wrong(what="weights", message=""), "load"),
        (Wrong(what="inputs changed", message=""), "forward"),
        (Wrong(what="sanitizer", message=""), "sanitizer"),
        (Implausible(message=""), "clock"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_verdict_tells_its_gate(verdict, gate):
    assert gates_of(verdict)[0] == gate


@pytest.mark.parametrize(
    ("verdict", "fields", "state"),
    [
        (WRONG, {}, State.CAUGHT),
        (WRONG, {"caught_by": ("rules", "clock")}, State.CAUGHT),
        (WRONG, {"caught_by": ("rules",)}, State.ELSEWHERE),
        (PASSED, {}, State.GOT_PAST),
        (PASSED, {"kind": Kind.HONEST}, State.PASSED),
        (WRONG, {"kind": Kind.HONEST}, State.REFUSED),
        (NOT_HERE, {}, State.NOT_RUNNABLE),
        (NOT_HERE, {"kind": Kind.HONEST}, State.NOT_RUNNABLE),
        (None, {}, State.NOT_RUNNABLE),
    ],
)
def test_a_case_ends_in_one_state(verdict, fields, state):
    assert outcome(verdict, **fields).state is state


def test_a_program_that_breaks_the_judge_is_not_caught():
    broken = Outcome(case=case(), trouble="the guest cannot be reached")
    assert broken.state is State.BROKE
    assert not broken.is_as_expected


def test_the_gate_that_the_case_names_is_told_first():
    verdict = Rejected(rule="torch-compute", where="at::softmax", message="")
    assert state_text(outcome(verdict, caught_by=("symbols",))) == "caught by symbols"


def test_the_summary_counts_what_ran():
    outcomes = [outcome(WRONG), outcome(PASSED), outcome(NOT_HERE), outcome(PASSED, kind=Kind.HONEST)]
    summary = Summary.of(outcomes)
    assert summary.text == "cheats caught 1/2, honest refused 0/1, not runnable here 1"
    assert summary.num_unexpected == 1


def test_the_readme_has_a_line_a_family():
    outcomes = [outcome(WRONG), outcome(NOT_HERE, name="cache-by-id"), outcome(PASSED, kind=Kind.HONEST)]
    lines = family_table(outcomes, "a device").splitlines()
    assert lines[2].startswith("| [values]")
    assert lines[2].endswith("| 1/1 | numbers 1 |")
    assert lines[3].endswith("| 0/0, 1 not runnable here | – |")
    assert "1/1 pass" in lines[4]
    assert "a device" in lines[-1]


def test_the_table_is_put_between_the_markers():
    text = f"# Read me\n\n{BEGIN}\nold\n{END}\n\nMore.\n"
    assert replace_table(text, "new") == f"# Read me\n\n{BEGIN}\nnew\n{END}\n\nMore.\n"


@pytest.mark.parametrize("text", ["", f"{BEGIN}", f"{END}{BEGIN}", f"{BEGIN}{BEGIN}{END}"])
def test_a_file_without_both_markers_is_refused(text):
    with pytest.raises(UsageError, match="redteam: begin"):
        replace_table(text, "new")
