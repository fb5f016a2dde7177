"""Where a team stands, made of its run's events and nothing else: so it resumes and forks like every run."""

from dataclasses import dataclass, field
from enum import StrEnum

from warpsmith.agent.events import (
    Diagnosed,
    Event,
    Examined,
    Handed,
    HandedIn,
    Judged,
    Planned,
    Routed,
    Said,
)
from warpsmith.agent.team.nouns import Diagnosis, Outcome, Plan, Rhythm, Route, SubTask
from warpsmith.agent.team.outcomes import final_outcome
from warpsmith.agent.team.routing import Result, Standing
from warpsmith.core import Passed, Role, Verdict


class Phase(StrEnum):
    """What comes next."""

    PLAN = "plan"
    CODE = "code"
    BUILD = "build"  # and test
    VERIFY = "verify"
    ROUTE = "route"
    FINAL = "final"  # the best program is measured for the record
    DONE = "done"


AFTER = {
    Route.CODING: Phase.CODE,
    Route.NEXT_TASK: Phase.CODE,
    Route.REPLAN: Phase.PLAN,
    Route.FINAL_TEST: Phase.FINAL,
    Route.STOP: Phase.DONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A past iteration, for whoever must not repeat it."""

    number: int
    sub_task: str
    result: Result
    diagnosis: Diagnosis


@dataclass(slots=True)
class TeamState:
    """Only `apply` changes it."""

    phase: Phase = Phase.PLAN
    member: str = ""  # who has the word; empty: whoever is due is told anew
    num_replies: int = 0  # since then
    plan: Plan | None = None
    index: int = 0  # of the sub-task that is worked on
    num_iterations: int = 0  # of this run, not of one that it was forked from
    num_replans: int = 0
    num_unread: int = 0  # plans in a row that could not be read
    results: list[Result] = field(default_factory=list)  # of the present plan and sub-task
    diagnosis: Diagnosis | None = None  # of the latest program
    digest: str | None = None  # of the latest program
    history: list[Tried] = field(default_factory=list)
    known: dict[str, Verdict] = field(default_factory=dict)  # by a program's digest
    final: Outcome | None = None

    def apply(self, event: Event) -> None:
        match event:
            case Said(message=message) if message.role is Role.ASSISTANT:
                self.num_replies += 1
            case Handed(to=to):
                self.member, self.num_replies = to, 0
            case Judged():
                self._judged(event)
            case HandedIn():
                self.member, self.phase = "", Phase.BUILD
            case Planned() | Examined() | Diagnosed() | Routed():
                self._advanced(event)
            case _:
                pass

    @property
    def sub_task(self) -> SubTask:
        """Raises LookupError if nothing has been planned."""
        if self.plan is None:
            raise LookupError("nothing has been planned")
        return self.plan.sub_tasks[self.index]

    @property
    def verdict(self) -> Verdict | None:
        """On the latest program that an iteration ended with."""
        return None if self.digest is None else self.known.get(self.digest)

    def standing(self, rhythm: Rhythm, *, has_program: bool) -> Standing:
        """What routing looks at."""
        return Standing(
            rhythm=rhythm,
            num_iterations=self.num_iterations,
            num_replans=self.num_replans,
            is_last=self.plan is None or self.index == len(self.plan.sub_tasks) - 1,
            results=tuple(self.results),
            has_program=has_program,
            final=self.final,
        )

    def taken_over(self, *, is_elsewhere: bool) -> None:
        """Another run's turns end here: its iterations were its own, and its end was."""
        self.num_iterations = self.num_replans = 0
        if is_elsewhere:  # the times so far say nothing here, and so does what was concluded from them
            self.known, self.results, self.history = {}, [], []
            self.digest, self.diagnosis, self.member = None, None, ""
        if self.phase in (Phase.FINAL, Phase.DONE):
            self.phase, self.results, self.final, self.member = Phase.PLAN, [], None, ""

    def _advanced(self, event: Planned | Examined | Diagnosed | Routed) -> None:
        match event:
            case Planned(plan=plan):
                self._planned(plan)
            case Examined():
                self._examined(event)
            case Diagnosed(diagnosis=diagnosis):
                self._diagnosed(diagnosis)
            case Routed(route=route):
                self._routed(route)

    def _judged(self, event: Judged) -> None:
        if event.tool == "final":
            self.final = final_outcome(event.verdict)
        known = self.known.get(event.digest)
        if not (_is_timed(known) and isinstance(event.verdict, Passed) and event.verdict.timing is None):
            self.known[event.digest] = event.verdict

    def _planned(self, plan: Plan | None) -> None:
        if plan is None:
            self.num_unread += 1
            return
        self.plan, self.index, self.results = plan, 0, []
        self.num_unread, self.member, self.phase = 0, "", Phase.CODE

    def _examined(self, event: Examined) -> None:
        result = Result(outcome=event.outcome, time_us=event.time_us)
        self.num_iterations += 1
        self.results.append(result)
        self.digest, self.diagnosis, self.phase = event.digest, event.diagnosis, Phase.VERIFY
        self.history.append(
            Tried(
                number=self.num_iterations,
                sub_task=self.sub_task.name,
                result=result,
                diagnosis=event.diagnosis,
            )
        )

    def _diagnosed(self, diagnosis: Diagnosis) -> None:
        self.diagnosis, self.member, self.phase = diagnosis, "", Phase.ROUTE

    def _routed(self, route: Route) -> None:
        self.final, self.phase = None, AFTER[route]
        if route is Route.NEXT_TASK:
            self.index, self.results = self.index + 1, []
        elif route is Route.REPLAN:
            self.num_replans, self.results = self.num_replans + 1, []


def _is_timed(verdict: Verdict | None) -> bool:
    return isinstance(verdict, Passed) and verdict.timing is not None
