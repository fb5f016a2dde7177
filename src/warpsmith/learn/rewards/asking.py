"""Where a judgement becomes an outcome: a failure of ours is none of the program's."""

from collections.abc import Callable

from warpsmith.core import InfraError, Passed, Verdict
from warpsmith.learn.rewards.base import Missing, NoReward, Outcome, RewardRule
from warpsmith.learn.rubric.base import Scores


def rewarded(
    judge: Callable[[], Verdict], rule: RewardRule, rubric: Callable[[Verdict], Scores] | None = None
) -> Outcome:
    """What the program earns that `judge` judges. The rubric is asked only about one that passed."""
    try:
        verdict = judge()
        needs_scores = rule.needs_rubric and rubric is not None and isinstance(verdict, Passed)
        scores = rubric(verdict) if needs_scores and rubric is not None else None
    except InfraError as error:
        return NoReward(reason=Missing.INFRA, message=str(error))
    return rule.reward(verdict, scores)
