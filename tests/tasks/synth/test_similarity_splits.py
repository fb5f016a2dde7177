"""Three sides of a set, none of which knows a task of another."""

from collections import Counter
from itertools import combinations

import pytest

from warpsmith.core import Task, UsageError
from warpsmith.tasks.synth.base import Made
from warpsmith.tasks.synth.similarity import (
    Split,
    Splitting,
    Thresholds,
    divided,
    similarity,
    token_similarity,
)

WORDS = ("relu", "tanh", "sigmoid", "exp", "abs", "sin", "cos", "neg", "erf", "sqrt", "square", "floor")


def chain(*words: str, name: str = "x") -> Made:
    lines = "\n".join(f"        {name} = torch.{word}({name})" for word in words)
    source = f"""import torch


class Model(torch.nn.Module):
    def forward(self, {name}):
{lines}
        return {name}


def get_inputs():
    return [torch.rand(8, 8)]


def get_init_inputs():
    return []
"""
    task = Task(task_id="-".join(words) + name, source=source, provenance="tests")
    return Made(task=task, operators=words, depth=len(words), structure=" ".join(words))


def family(num_words: int) -> list[Made]:
    """Chains that begin one word later each time: each is like the next, and the last unlike the first."""
    return [chain(*WORDS[at:], *WORDS[:at], *["sign"] * 8) for at in range(num_words)]


PAIRS = [chain(one, other) for one, other in combinations(WORDS, 2)]
TWINS = [chain(*made.operators, name="tokens") for made in PAIRS[:30]]
SET = [*PAIRS, *TWINS]


def sides(rows):
    return {row.task.digest: row.split for row in rows}


@pytest.mark.parametrize("limit", [0.9, 0.5])
def test_no_pair_across_sides_is_alike(limit):
    thresholds = Thresholds(structure=limit, tokens=limit)
    found = divided(SET[::3], Splitting(validation=0.2, test=0.2, seed=4, thresholds=thresholds))
    assert {row.split for row in found.rows} == set(Split)
    for one, other in combinations(found.rows, 2):
        if one.split != other.split:
            assert similarity(one.task, other.task) < limit
            assert token_similarity(one.task, other.task) < limit


def test_what_hangs_together_by_a_third_is_on_one_side():
    row = family(6)
    first, last = row[0].task, row[-1].task
    limit = similarity(first, row[1].task)
    assert similarity(first, last) < limit
    thresholds = Thresholds(structure=limit, tokens=1.0)
    found = divided([*row, *PAIRS], Splitting(test=0.5, validation=0, thresholds=thresholds))
    assert len(set(found.groups[: len(row)])) == 1
    assert len({one.split for one in found.rows[: len(row)]}) == 1


def test_twins_are_on_one_side_and_the_sides_have_their_shares():
    found = divided(SET, Splitting(validation=0.1, test=0.2))
    for pair, twin in zip(found.rows[:30], found.rows[len(PAIRS) :], strict=True):
        assert pair.split == twin.split
    counts = Counter(row.split for row in found.rows)
    assert counts[Split.TEST] == pytest.approx(0.2 * len(SET), abs=1)
    assert counts[Split.VALIDATION] == pytest.approx(0.1 * len(SET), abs=1)


def test_the_same_seed_gives_the_same_sides_in_any_order():
    found = sides(divided(SET).rows)
    assert sides(divided(reversed(SET)).rows) == found
    assert sides(divided(SET, Splitting(seed=1)).rows) != found


def test_a_few_tasks_more_change_little():
    before = sides(divided(SET).rows)
    after = sides(divided([*SET, chain("ceil"), chain("round"), chain("trunc")]).rows)
    assert sum(after[digest] != side for digest, side in before.items()) <= 4


def test_a_group_that_is_larger_than_a_side_is_trained_on():
    same = [chain("relu", "exp", name=f"x{at}") for at in range(20)]
    found = divided([*same, *PAIRS[:20]], Splitting(test=0.2, validation=0.1))
    assert {row.split for row in found.rows[:20]} == {Split.TRAIN}
    assert Counter(row.split for row in found.rows)[Split.TEST] == 8


def test_what_cannot_be_compared_is_on_no_side():
    broken = Made(
        task=Task(task_id="broken", source="x = (", provenance="tests"), operators=(), depth=0, structure=""
    )
    found = divided([broken, *PAIRS])
    assert [one.task_id for one in found.unread] == ["broken"]
    assert len(found.rows) == len(PAIRS)


def test_sides_from_before_do_not_count_and_nothing_else_of_a_row_changes():
    from dataclasses import replace

    marked = [replace(made, split="test", facts={"eager_us": "7"}) for made in PAIRS]
    found = divided(marked)
    assert sides(found.rows) == sides(divided(PAIRS).rows)
    assert [replace(row, split="test") for row in found.rows] == marked


def test_a_set_of_none_or_one_is_trained_on():
    assert divided([]).rows == ()
    assert [row.split for row in divided(PAIRS[:1]).rows] == [Split.TRAIN]


@pytest.mark.parametrize("shares", [{"test": 1.0}, {"test": 0.6, "validation": 0.4}, {"validation": -0.1}])
def test_shares_that_leave_nothing_to_train_on_are_refused(shares):
    with pytest.raises(UsageError, match="shares of validation and test"):
        Splitting(**shares)
