"""A team at work: plan, code, build, verify, route, an iteration after the other.

The events, the record, the budget and what a turn is are those of the one loop; here is only who speaks next,
what that one is told, and what the judge is asked in between.
"""

import shlex
from contextlib import suppress
from dataclasses import replace

from warpsmith.agent.diagnosis.timing import bounds_of
from warpsmith.agent.episode import MAX_NUDGES, Episode
from warpsmith.agent.events import Busy, Diagnosed, Examined, Handed, HandedIn, Planned, Routed, Said
from warpsmith.agent.loop import Setting, SkillAgent, Unreachable, twice
from warpsmith.agent.prompts import from_user
from warpsmith.agent.team.briefs import REPAIR, Table, brief, diagnosis_text
from warpsmith.agent.team.cast import LOOKING, Cast
from warpsmith.agent.team.diagnosis import Bounds, diagnosed, no_program
from warpsmith.agent.team.nouns import Diagnosis, Member, Outcome, Plan, Route
from warpsmith.agent.team.outcomes import outcome_of
from warpsmith.agent.team.planning import default_plan, plan_of
from warpsmith.agent.team.reading import Unreadable
from warpsmith.agent.team.routing import routed
from warpsmith.agent.team.state import Phase, TeamState
from warpsmith.agent.team.verifying import spoken
from warpsmith.agent.workspace.folder import Refused
from warpsmith.core import (
    Candidate,
    Cost,
    Passed,
    Solution,
    StopReason,
    Task,
    ToolCall,
    Verdict,
)
from warpsmith.device.gpus import ASSUMED_LAUNCH_US
from warpsmith.judge.profile import Profile
from warpsmith.toolchain import Build

__all__ = ["TeamAgent"]

MAX_REPAIRS = 1  # of a plan that cannot be read
REMOVAL_LIMIT_S = 10.0
DUE = {Phase.PLAN: Member.PLANNER, Phase.CODE: Member.CODER, Phase.VERIFY: Member.VERIFIER}


class TeamAgent(SkillAgent):
    """Several policies at work on one task, once."""

    def __init__(
        self, cast: Cast, setting: Setting, episode: Episode | None = None, paid: Said | None = None
    ) -> None:
        super().__init__(cast, setting, episode, paid)
        self._cast = cast
        self._profile: Profile | None = None
        self._has_profile = False
        self._final: Solution | None = None  # of the final test, while nothing has come after it

    @property
    def _state(self) -> TeamState:
        return self._episode.team

    def _converse(self, task: Task) -> tuple[StopReason, str]:
        self._task = task
        if self._episode.num_inherited and not self._episode.num_turns:
            self._time_inherited()
        while True:
            self._advance()
            if self._state.phase is Phase.DONE:
                return StopReason.FINISHED, ""
            stop = self._reason_to_stop() if self._paid is None else None
            if stop is not None:
                return stop, ""
            self._hand_over()
            stop = self._reason_not_to_ask()
            if stop is not None:
                return stop, ""
            try:
                said = self._reply()
            except Unreachable as unreachable:
                return StopReason.POLICY, str(unreachable)
            self._answer(said)

    # --- who has the word ---

    def _hand_over(self) -> None:
        """Let whoever is due have the word, with a conversation that begins anew."""
        due = DUE[self._state.phase]
        self._cast.give(due)
        self._setting = replace(self._setting, policy_config=self._cast.actor.config)
        if self._state.member == due:
            return
        program = self._program()
        shown = () if program is None else tuple(path for path, _ in program.files)
        for path in shown:
            with suppress(Refused):  # what is told of a file counts as having read it
                self._setting.workspace.read(path)
        table = Table(
            task=self._task,
            profile=self._known_profile(),
            program=program,
            state=self._state,
            max_iterations=self._cast.rhythm.max_iterations,
        )
        self._final = None
        self._tell(Handed(to=due, context=brief(due, table), shown=shown))

    def _reply(self) -> Said:
        return replace(super()._reply(), by=self._cast.member)

    def _answered(self, call: ToolCall, unwanted: str | None) -> Cost:
        if unwanted is None and self._cast.member is not Member.CODER and call.tool not in LOOKING:
            unwanted = f"the {self._cast.member} has the tools {', '.join(LOOKING)}; answer in words"
        return super()._answered(call, unwanted)

    def _nudge(self, said: Said, num_same: int) -> str | None:
        """Only a coder is told to call tools; what the others say is read as it is."""
        return super()._nudge(said, num_same) if self._cast.member is Member.CODER else None

    def _concluded(self, said: Said, *, is_nudged: bool) -> Cost:
        """What a reply means for the team, once its calls are answered."""
        match self._cast.member:
            case Member.PLANNER:
                self._hear_planner(said)
            case Member.CODER:
                self._hear_coder(said, is_nudged=is_nudged)
            case Member.VERIFIER:
                self._hear_verifier(said)
        return self._advance()

    def _hear_planner(self, said: Said) -> None:
        if said.message.tool_calls and self._state.num_replies < self._cast.rhythm.other_turns:
            return
        try:
            self._tell(Planned(plan=plan_of(said.message.text)))
        except Unreadable as unreadable:
            if self._state.num_unread < MAX_REPAIRS:
                self._tell(Planned(plan=None, reason=str(unreadable)))
                self._say(from_user(REPAIR.format(reason=unreadable)))
            else:
                self._plan_plainly(f"the planner's answer could not be read: {unreadable}")

    def _hear_coder(self, said: Said, *, is_nudged: bool) -> None:
        is_stuck = is_nudged and self._episode.num_nudges >= MAX_NUDGES
        if is_stuck or self._state.num_replies >= self._cast.rhythm.coder_turns:
            self._tell(HandedIn(reason="the coder says no more that leads anywhere, or may say no more"))
        elif not said.message.tool_calls and not is_nudged:
            self._tell(HandedIn(reason="the coder says so"))

    def _hear_verifier(self, said: Said) -> None:
        if said.message.tool_calls and self._state.num_replies < self._cast.rhythm.other_turns:
            return
        name = self._cast.actor.policy.name
        self._tell(Diagnosed(diagnosis=spoken(said.message.text, self._by_rules(), name)))

    # --- what needs nobody's word ---

    def _advance(self) -> Cost:
        """All steps until somebody is due or a limit is reached, and what they took."""
        cost = Cost()
        while self._reason_to_stop() in (None, StopReason.TURNS):
            match self._state.phase:
                case Phase.PLAN if not self._cast.has(Member.PLANNER):
                    self._plan_plainly("nobody plans")
                case Phase.BUILD:
                    cost += self._test()
                case Phase.VERIFY if not self._cast.has(Member.VERIFIER):
                    self._tell(Diagnosed(diagnosis=self._by_rules()))
                case Phase.ROUTE:
                    self._route()
                case Phase.FINAL:
                    self._test_finally()
                case _:
                    return cost
        return cost

    def _plan_plainly(self, reason: str) -> None:
        plan: Plan = default_plan(self._task.task_id)
        self._tell(Planned(plan=plan, reason=reason))

    def _test_finally(self) -> None:
        """Measure the best program for the record; what it cost is in its verdict's event."""
        self._context.jobs.close()  # nothing may run beside a clock
        self._final = super()._measured_again(self._episode.ranked())
        if self._final is None:
            self._tell(Routed(route=Route.STOP, rule="no program that passed is left to be tested"))
        else:
            self._route()

    def _measured_again(self, ranked: list[Solution]) -> Solution | None:
        """A final test that nothing came after is the verdict of record."""
        return self._final or super()._measured_again(ranked)

    def _test(self) -> Cost:
        """Build and judge what stands in the workspace, unless the judge has spoken on it already."""
        try:
            program = self._setting.workspace.candidate()
        except Refused as refusal:
            self._report(Outcome.NOTHING, None, None, no_program(str(refusal)))
            return Cost()
        known = self._known(program)
        verdict, cost = self._asked(program) if known is None else (known, Cost())
        sub_task, rhythm = self._state.sub_task, self._cast.rhythm
        outcome = outcome_of(verdict, rhythm.target, sub_task.target)
        self._report(outcome, program, verdict, diagnosed(verdict, self._bounds()), cost)
        return cost

    def _asked(self, program: Candidate) -> tuple[Verdict, Cost]:
        self._tell(Busy(what="building and testing the iteration's program"))
        verdict, cost = self._costed(lambda: twice(lambda: self._judged_now(program)))
        self._note("test", Solution(candidate=program, verdict=verdict))
        return verdict, cost

    def _judged_now(self, program: Candidate) -> Verdict:
        """The build first: it needs no GPU, and what does not compile need not wait for one."""
        self._context.jobs.close()  # nothing may run beside a clock
        build = self._setting.judge.build(program)
        return self._setting.judge.measure(program) if isinstance(build, Build) else build

    def _known(self, program: Candidate) -> Verdict | None:
        """A verdict on just this program, unless it says nothing of a right program's speed."""
        verdict = self._state.known.get(program.digest)
        return None if isinstance(verdict, Passed) and verdict.timing is None else verdict

    def _report(
        self,
        outcome: Outcome,
        program: Candidate | None,
        verdict: Verdict | None,
        diagnosis: Diagnosis,
        cost: Cost | None = None,
    ) -> None:
        timing = verdict.timing if isinstance(verdict, Passed) else None
        self._tell(
            Examined(
                outcome=outcome,
                time_us=None if timing is None else timing.candidate.median_us,
                digest=None if program is None else program.digest,
                diagnosis=diagnosis,
            )
        )
        self._say(from_user(f"{outcome}\n{diagnosis_text(diagnosis)}"), cost)

    def _route(self) -> None:
        standing = self._state.standing(self._cast.rhythm, has_program=bool(self._episode.passed))
        rule = routed(self._cast.kind, standing)
        best = self._episode.best
        if rule.route is Route.REPLAN and standing.final is None and not standing.is_right and best:
            self._put_back(best.candidate)
        self._tell(Routed(route=rule.route, rule=rule.name))

    def _put_back(self, program: Candidate) -> None:
        """What was right stays done: a new plan begins with the fastest such program, not with a failure."""
        workspace, present = self._setting.workspace, self._program()
        stands = {} if present is None else dict(present.files)
        stale = sorted(stands.keys() - dict(program.files).keys())
        if stale:
            workspace.run(f"rm -f -- {shlex.join(stale)}", REMOVAL_LIMIT_S)
        for path, text in program.files:
            if stands.get(path) != text:
                with suppress(Refused):
                    workspace.read(path)  # else it may not be replaced
                with suppress(Refused):  # then a coder has to do with what is there
                    workspace.write(path, text)

    # --- what is known ---

    def _by_rules(self) -> Diagnosis:
        return self._state.diagnosis or no_program("nothing was tested")

    def _program(self) -> Candidate | None:
        with suppress(Refused):
            return self._setting.workspace.candidate()
        return None

    def _known_profile(self) -> Profile | None:
        if not self._has_profile and self._setting.profile is not None:
            self._profile = self._setting.profile()
        self._has_profile = True
        return self._profile

    def _bounds(self) -> Bounds:
        profile = self._known_profile()
        if profile is None:
            return Bounds(launch_us=ASSUMED_LAUNCH_US)
        return bounds_of(profile.floor, profile.gpu)
