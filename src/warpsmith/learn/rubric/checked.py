"""A judge that has opinions, held against one that has facts."""

from dataclasses import replace

from warpsmith.learn.rubric.base import NEUTRAL, Rubric, Scores, Work

MOST_APART = 2  # levels; two careful readers are seldom further apart


class CheckedRubric:
    """What `judge` says, as far as `facts` leaves room for it.

    A level further from the facts' than MOST_APART becomes neutral: one of the two is wrong, and nobody knows
    which. A cheat that the facts show counts whatever the judge says.
    """

    def __init__(self, judge: Rubric, facts: Rubric) -> None:
        self._judge = judge
        self._facts = facts
        self.num_doubted = 0  # levels that became neutral

    def scores(self, work: Work) -> Scores:
        known = self._facts.scores(work)
        if known.is_hack:
            return known
        told = self._judge.scores(work)
        if told.is_neutral or told.is_hack:
            return told
        doubted = {
            dimension: level
            for dimension, level in told.levels.items()
            if abs(level - known.levels[dimension]) > MOST_APART
        }
        self.num_doubted += len(doubted)
        if not doubted:
            return told
        reason = "; ".join(
            f"{dimension}: told {level}, by the facts {known.levels[dimension]}"
            for dimension, level in doubted.items()
        )
        return replace(told, levels=told.levels | dict.fromkeys(doubted, NEUTRAL), reason=reason)
