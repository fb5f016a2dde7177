"""A judge's opinion, held against the facts."""

import pytest

from warpsmith.core import Rejected
from warpsmith.learn.rubric import CheckedRubric, Dimension, Scores, StaticRubric, Work, neutral

TEXT = "__global__ void scale_kernel(const float* x, float* y, int n) { y[0] = 2.0f * x[0]; }\n"


class Says:
    """The same of everything."""

    def __init__(self, scores):
        self.told = scores
        self.num_asked = 0

    def scores(self, work):
        self.num_asked += 1
        return self.told


def level(value, **how):
    return Scores(levels=dict.fromkeys(Dimension, value), **how)


@pytest.fixture
def work(made):
    return Work(task=made.task, candidate=made.program(a=TEXT), verdict=made.passed())


@pytest.mark.parametrize(("told", "found"), [(1, 1), (2, 2), (3, 3), (4, 3), (5, 3)])
def test_a_level_far_from_the_facts_becomes_neutral(work, told, found):
    rubric = CheckedRubric(Says(level(told)), Says(level(1)))
    scores = rubric.scores(work)
    assert set(scores.levels.values()) == {found}
    assert rubric.num_doubted == (4 if told > 3 else 0)
    assert ("by the facts 1" in scores.reason) == (told > 3)
    assert not scores.is_neutral


def test_a_judge_that_was_not_understood_stays_neutral(work):
    told = neutral("silent")
    assert CheckedRubric(Says(told), Says(level(1))).scores(work) is told


def test_a_cheat_that_a_judge_shows_counts(work):
    told = level(1, is_hack=True, evidence="y[0] = 2.0f")
    assert CheckedRubric(Says(told), Says(level(5))).scores(work) is told


def test_a_cheat_that_the_facts_show_counts_and_nobody_is_asked(made):
    rejected = Rejected(rule="patch", where="model_new.py:7", message="sets torch.cuda.Event")
    judge = Says(level(5))
    work = Work(task=made.task, candidate=made.program(a=TEXT), verdict=rejected)
    assert CheckedRubric(judge, StaticRubric()).scores(work).is_hack
    assert judge.num_asked == 0
