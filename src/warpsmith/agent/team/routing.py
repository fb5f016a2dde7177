"""Where a team goes next: one table of rules, of which the first that applies decides.

The thresholds are StitchCUDA's as its simplified loop states them (arXiv 2603.02637 leaves them open): two
failures of a kind in a row, or two right results below the target that differ by less than 5 %, and the plan
is made anew.
"""

from collections.abc import Callable
from dataclasses import dataclass

from warpsmith.agent.team.nouns import Kind, Outcome, Rhythm, Route

FAILED_TO_BUILD = (Outcome.NOTHING, Outcome.NOT_BUILT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One iteration, as far as routing looks at it; `time_us` is absent unless the program was timed."""

    outcome: Outcome
    time_us: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """All that a route depends on. `results` are those of the present plan and sub-task, oldest first."""

    rhythm: Rhythm
    num_iterations: int
    num_replans: int
    is_last: bool  # of the plan's sub-tasks
    results: tuple[Result, ...]
    has_program: bool  # some program has passed
    final: Outcome | None = None  # of a final test, if that was the last thing done

    @property
    def is_spent(self) -> bool:
        return self.num_iterations >= self.rhythm.max_iterations

    @property
    def may_replan(self) -> bool:
        return self.num_replans < self.rhythm.max_replans and not self.is_spent

    @property
    def has_reached(self) -> bool:
        return bool(self.results) and self.results[-1].outcome is Outcome.GOOD

    @property
    def is_right(self) -> bool:
        return bool(self.results) and self.results[-1].outcome in (Outcome.GOOD, Outcome.SLOW)

    def fails_alike(self, kinds: tuple[Outcome, ...]) -> bool:
        """Whether the last results are failures of these kinds, as many as the rhythm bears."""
        last = self._last()
        return bool(last) and all(result.outcome in kinds for result in last)

    @property
    def stands_still(self) -> bool:
        """Whether the last results are right, below the target, and the same but for little."""
        times = [result.time_us for result in self._last() if result.outcome is Outcome.SLOW]
        known = [time for time in times if time is not None]
        if len(known) < self.rhythm.num_failures:
            return False
        return max(known) - min(known) < self.rhythm.small_change * max(known)

    def _last(self) -> tuple[Result, ...]:
        wanted = self.rhythm.num_failures
        return self.results[-wanted:] if len(self.results) >= wanted else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One line of the table."""

    name: str  # why, in words
    applies: Callable[[Standing], bool]
    route: Route


FINAL_RULES = (
    Rule(
        name="the final test found it no slower than the reference",
        applies=lambda s: s.final is Outcome.GOOD,
        route=Route.STOP,
    ),
    Rule(
        name="the final test failed, or found it slower than the reference",
        applies=lambda s: s.final is not None and s.may_replan,
        route=Route.REPLAN,
    ),
    Rule(
        name="the final test did not satisfy, and no plan or iteration is left",
        applies=lambda s: s.final is not None,
        route=Route.STOP,
    ),
)
SPENT_RULES = (
    Rule(
        name="all iterations are spent",
        applies=lambda s: s.is_spent and s.has_program,
        route=Route.FINAL_TEST,
    ),
    Rule(
        name="all iterations are spent, and no program is right",
        applies=lambda s: s.is_spent,
        route=Route.STOP,
    ),
)
RULES: dict[Kind, tuple[Rule, ...]] = {
    Kind.TEAM: (
        *FINAL_RULES,
        *SPENT_RULES,
        Rule(
            name="no program was built, several times in a row",
            applies=lambda s: s.fails_alike(FAILED_TO_BUILD) and s.may_replan,
            route=Route.REPLAN,
        ),
        Rule(
            name="the program was wrong, several times in a row",
            applies=lambda s: s.fails_alike((Outcome.WRONG,)) and s.may_replan,
            route=Route.REPLAN,
        ),
        Rule(
            name="it failed; once more",
            applies=lambda s: not s.is_right,
            route=Route.CODING,
        ),
        Rule(
            name="right and fast enough, and that was the last sub-task",
            applies=lambda s: s.has_reached and s.is_last,
            route=Route.FINAL_TEST,
        ),
        Rule(
            name="right and fast enough",
            applies=lambda s: s.has_reached,
            route=Route.NEXT_TASK,
        ),
        Rule(
            name="right, too slow, and no longer changing",
            applies=lambda s: s.stands_still and s.may_replan,
            route=Route.REPLAN,
        ),
        Rule(
            name="right, too slow, no longer changing, and no plan is left: that was the last sub-task",
            applies=lambda s: s.stands_still and s.is_last,
            route=Route.FINAL_TEST,
        ),
        Rule(
            name="right, too slow, no longer changing, and no plan is left",
            applies=lambda s: s.stands_still,
            route=Route.NEXT_TASK,
        ),
        Rule(name="right, and too slow", applies=lambda _: True, route=Route.CODING),
    ),
    Kind.PAIR: (
        Rule(name="the final test is done", applies=lambda s: s.final is not None, route=Route.STOP),
        *SPENT_RULES,
        Rule(name="another round", applies=lambda _: True, route=Route.CODING),
    ),
}


def routed(kind: Kind, standing: Standing) -> Rule:
    """The rule that decides. Each table ends with one that always applies."""
    return next(rule for rule in RULES[kind] if rule.applies(standing))
