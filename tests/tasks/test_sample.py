"""A sample is made up as the whole is, and whoever draws it again gets the same."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpsmith.core import Task, UsageError
from warpsmith.tasks.store import sampled
from warpsmith.tasks.store.sample import depth_of, shares
from warpsmith.tasks.synth.base import Curriculum, Made

SIZES = {("torch#1", Curriculum.ELEMENTWISE): 34, ("torch#2", Curriculum.FUSED): 800, ("torch#2", None): 160,
         ("transformers", Curriculum.LAYERS): 6}  # fmt: skip


@pytest.fixture
def rows():
    """1000 tasks in four strata."""
    found = []
    for (source, curriculum), num in SIZES.items():
        for _ in range(num):
            number = len(found)
            task = Task(task_id=f"task-{number}", source=f"number = {number}", provenance="tests")
            found.append(
                Made(
                    task=task,
                    operators=(),
                    depth=2,
                    structure=str(number),
                    curriculum=curriculum,
                    source=source,
                )
            )
    return found


def test_each_stratum_has_its_share(rows):
    counts = Counter((depth_of(row), row.curriculum or "") for row in sampled(rows, 200, 0))
    assert counts == {
        ("torch#1", "elementwise"): 7,
        ("torch#2", "fused"): 160,
        ("torch#2", ""): 32,
        ("transformers", "layers"): 1,
    }


def test_many_rare_curricula_of_a_rare_depth_do_not_crowd_out_the_others(rows):
    """Each would have less than one task of the sample; together they have what their depth has."""
    curricula = list(Curriculum)
    mixed = [
        replace(row, curriculum=curricula[number % 6]) if row.source == "torch#1" else row
        for number, row in enumerate(rows)
    ]
    counts = Counter(depth_of(row) for row in sampled(mixed, 100, 0))
    assert counts == {"torch#1": 3, "torch#2": 96, "transformers": 1}


def test_the_order_of_the_set_does_not_matter_and_the_seed_does(rows):
    def drawn(some, seed):
        return [row.task.task_id for row in sampled(some, 50, seed)]

    assert sorted(drawn(rows, 1)) == sorted(drawn(rows[::-1], 1))
    assert drawn(rows, 1) == sorted(drawn(rows, 1), key=lambda name: int(name[5:]))
    assert drawn(rows, 1) != drawn(rows, 2)


def test_all_of_a_set_is_the_set_and_more_is_an_error(rows):
    assert sampled(rows, len(rows), 5) == rows
    with pytest.raises(UsageError, match="1001 tasks cannot be taken of 1000"):
        sampled(rows, 1001, 0)


@given(st.lists(st.integers(0, 300), max_size=8), st.integers(0, 400))
def test_shares_add_up_and_none_is_more_than_there_is(sizes, n):
    n = min(n, sum(sizes))
    found = shares(sizes, n)
    assert sum(found) == n
    assert all(0 <= many <= size for many, size in zip(found, sizes, strict=True))
    if n >= sum(1 for size in sizes if size):
        assert all(many for many, size in zip(found, sizes, strict=True) if size)
