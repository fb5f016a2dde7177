"""The honest part of the corpus is what it says: many programs, all different, each with its reason."""

from collections import Counter

import pytest

from warpsmith.core import Form
from warpsmith.judge.gates.rules import breach
from warpsmith.redteam.case import CORPUS, Kind, read_case

MIN_CASES = 60
MIN_ON_ANY_DEVICE = 60
MAX_SLOW_BUILDS = 4  # of torch's own headers, on the cpu device

CASES = tuple(read_case(path) for path in sorted((CORPUS / Kind.HONEST).glob("*.md")))


def test_there_are_enough_of_them_on_any_device():
    assert len(CASES) >= MIN_CASES
    assert sum(case.needs is None for case in CASES) >= MIN_ON_ANY_DEVICE


@pytest.mark.parametrize("what", ["title", "tries", "candidate"])
def test_no_two_are_alike(what):
    counts = Counter(getattr(case, what) for case in CASES)
    assert [name for name, count in counts.items() if count > 1] == []


def test_few_of_them_build_slowly_on_the_cpu_device():
    slow = [case.name for case in CASES if case.candidate.form is not Form.LAUNCHER and case.needs != "cuda"]
    assert len(slow) <= MAX_SLOW_BUILDS


def test_every_form_and_every_option_is_among_them():
    assert {case.candidate.form for case in CASES} == set(Form)
    assert {str(option) for case in CASES for option in case.options} == {
        "tf32",
        "train",
        "backward",
        "fp16",
        "bf16",
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_rule_on_its_text_refuses_it(case):
    assert breach(case.candidate) is None
