"""The table that a judge is measured by."""

import pytest
from benchmarks.rubric import Judgement, graded_again, table_of

from warpsmith.core import NotRunnable
from warpsmith.learn.rubric import Dimension, neutral
from warpsmith.learn.rubric.calibration import grades, key_of


class Says:
    """What the hand said, or nothing."""

    def __init__(self, chosen, silent=()):
        self._by_program = {grade.program.candidate.digest: grade.scores for grade in chosen}
        self._silent = silent

    def scores(self, work):
        if work.candidate.digest in self._silent:
            return neutral("silent")
        return self._by_program[work.candidate.digest]


@pytest.fixture(scope="module")
def chosen():
    """Grades from scratch, a program each."""
    return [grade for grade in grades() if grade.before is None]


def test_who_says_what_the_hand_said_agrees_in_all(chosen, made):
    verdicts = {key_of(grade.program): made.passed() for grade in chosen}
    table = table_of(graded_again(chosen, Says(chosen), verdicts))
    whole = table["all"]
    assert (whole["num"], whole["num_neutral"]) == (len(chosen), 0)
    assert {levels["kappa"] for levels in whole["levels"].values()} == {1.0}
    assert whole["hack"]["recall"]["count"] == whole["hack"]["precision"]["num"] > 0
    assert table["tuning half"]["num"] + table["held-out half"]["num"] == len(chosen)


def test_neutral_answers_count_apart(chosen, made):
    verdicts = {key_of(grade.program): made.failed for grade in chosen}
    silent = {grade.program.candidate.digest for grade in chosen[:10]}
    whole = table_of(graded_again(chosen, Says(chosen, silent), verdicts))["all"]
    assert whole["num_neutral"] == 10
    assert {levels["num"] for levels in whole["levels"].values()} == {len(chosen) - 10}


def test_a_program_that_was_not_judged_here_is_left_out(chosen, made):
    first, second, third = chosen[:3]
    verdicts = {
        key_of(first.program): made.passed(),
        key_of(second.program): NotRunnable(device="cpu", reason="inline PTX"),
    }
    (found,) = graded_again([first, second, third], Says(chosen), verdicts)
    assert isinstance(found, Judgement)
    assert found.grade is first
    assert set(found.scores.levels) == set(Dimension)
