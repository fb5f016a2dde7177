"""Smaller sizes for files that have no SCALE."""

import pytest

from warpsmith.tasks.caps import Cap, with_caps

CASES = {
    "a number": ("batch_size = 64\n", "batch_size = 4\n"),
    "a product": ("batch_size = 16 * 2 + 1  # rows\n", "batch_size = 4  # rows\n"),
    "several at once": ("batch, height = 64, 32\n", "batch, height = 4, 32\n"),
    "two names of one number": ("batch = batch_size = 64\n", "batch = batch_size = 4\n"),
    "annotated": ("batch: int = 64\n", "batch: int = 4\n"),
    "small enough": ("batch = 3\n", "batch = 3\n"),
    "another name": ("rows = 64\n", "rows = 64\n"),
    "no plain number": ("batch = len('x' * 64)\n", "batch = len('x' * 64)\n"),
    "a boolean": ("batch = True\n", "batch = True\n"),
    "in a function": ("def f():\n    batch = 64\n", "def f():\n    batch = 64\n"),
    "after wide characters": ("é = 'é'; batch = 64\n", "é = 'é'; batch = 4\n"),
}


@pytest.mark.parametrize(("source", "capped"), CASES.values(), ids=CASES)
def test_a_cap_lowers_top_level_integers_of_its_names(source, capped):
    assert with_caps(source, "a file", (Cap.parsed("batch*=4"),))[0] == capped


def test_what_was_lowered_is_named():
    source = "batch = 64\nheight = width = 32\n"
    caps = (Cap.parsed("batch=4"), Cap.parsed("width=8"))
    assert with_caps(source, "a file", caps)[1] == {"batch": 4, "width": 8}


def test_the_first_cap_that_fits_counts():
    caps = (Cap.parsed("batch=8"), Cap.parsed("b*=4"))
    assert with_caps("batch = 64\nblocks = 64\n", "a file", caps)[0] == "batch = 8\nblocks = 4\n"
