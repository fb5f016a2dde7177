"""What a whole episode earned: its best program's reward, or why nobody can tell."""

from collections.abc import Iterable
from dataclasses import dataclass

from warpsmith.agent.events import Aborted, Event, Finished, Judged, in_effect
from warpsmith.core import Passed, Solution, StopReason, Task, UsageError, Verdict, Wrong
from warpsmith.learn.rewards.base import Missing, NoReward, Outcome, RewardRule
from warpsmith.learn.rubric.base import Rubric, Work

NOTHING = Wrong(what="structure", message="no program was ever judged")

FROM_OUTSIDE = (StopReason.POLICY, StopReason.INTERRUPTED)
"""The policy could not go on, for no fault of its own."""

LIMITS = (
    StopReason.TURNS,
    StopReason.TOKENS,
    StopReason.TIME,
    StopReason.MONEY,
    StopReason.GPU,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """An episode's outcome, and whether a limit ended it."""

    outcome: Outcome
    is_truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """A rule, and a rubric if it needs one. Raises UsageError at construction if it lacks one."""

    rule: RewardRule
    rubric: Rubric | None = None

    def __post_init__(self) -> None:
        if self.rule.needs_rubric and self.rubric is None:
            raise UsageError(f"the reward {self.rule.name} needs a rubric")

    def of_episode(self, task: Task, events: Iterable[Event]) -> Graded:
        """The verdict of record counts; where no program passed, the last verdict that there was.

        An episode that broke off, or that was stopped from outside before a program passed, has no reward: it
        might have come to one. Nor has one whose programs could not be measured.
        """
        told = in_effect(events)
        end = told[-1] if told else None
        if isinstance(end, Aborted) or not isinstance(end, Finished):
            message = end.reason if isinstance(end, Aborted) else "the episode has no end"
            return Graded(outcome=NoReward(reason=Missing.INFRA, message=message), is_truncated=False)
        return Graded(outcome=self._outcome(task, end, told), is_truncated=end.stop in LIMITS)

    def _outcome(self, task: Task, end: Finished, told: tuple[Event, ...]) -> Outcome:
        if end.best is not None and isinstance(end.best.verdict, Passed):
            return self._of_program(task, end.best)
        if end.stop in FROM_OUTSIDE:
            return NoReward(
                reason=Missing.INFRA, message=end.reason or f"the episode was stopped ({end.stop})"
            )
        verdicts = [event.verdict for event in told if isinstance(event, Judged)]
        return self.rule.reward(_worst_known(verdicts))

    def _of_program(self, task: Task, best: Solution) -> Outcome:
        scores = None
        if self.rule.needs_rubric and self.rubric is not None:
            scores = self.rubric.scores(Work(task=task, candidate=best.candidate, verdict=best.verdict))
        return self.rule.reward(best.verdict, scores)


def _worst_known(verdicts: list[Verdict]) -> Verdict:
    """The last one that is no pass: one that passed and failed its last measurement is not to be trusted."""
    failed = [verdict for verdict in verdicts if not isinstance(verdict, Passed)]
    return failed[-1] if failed else NOTHING
