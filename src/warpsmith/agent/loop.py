"""One episode: the policy speaks, its tools answer, until it has finished or a limit is reached."""

import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from typing import TypeVar

from warpsmith.agent.budget import FREE, Allowance
from warpsmith.agent.episode import Episode
from warpsmith.agent.events import (
    Aborted,
    Built,
    Busy,
    Event,
    Finished,
    Improved,
    Judged,
    Listener,
    Said,
    Sampled,
    TurnEnded,
)
from warpsmith.agent.hearing import heard
from warpsmith.agent.interrupt import Interrupt
from warpsmith.agent.judging import Judging
from warpsmith.agent.prompts import ELSEWHERE, GO_ON, from_user, nudge_text, opening
from warpsmith.agent.runs.snapshot import Blobs, Snapshot, taken
from warpsmith.agent.tools import SPECS, Answer, Context, answer
from warpsmith.agent.window.compaction import compacted
from warpsmith.agent.window.tokens import least_tokens
from warpsmith.agent.workspace.folder import Workspace
from warpsmith.core import (
    Cost,
    EnvironmentMissing,
    InfraError,
    Message,
    Passed,
    Role,
    Solution,
    StopReason,
    Task,
    ToolCall,
    Trajectory,
    UsageError,
    Verdict,
)
from warpsmith.judge.profile import Profile
from warpsmith.policy import Policy, PolicyConfig, Price

T = TypeVar("T")

MAX_CALLS = 32  # of one reply
MAX_REASON = 2_000  # characters
FINAL_TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What an episode takes place in."""

    judge: Judging
    workspace: Workspace
    budget: Allowance
    listener: Listener
    blobs: Blobs | None = None  # where the workspace is kept at the end of each turn; None: nowhere
    interrupt: Interrupt | None = None  # one that others heed as well; None: its own
    device: str = ""  # its name, for a policy that takes over on another one
    profile: Callable[[], Profile] | None = None  # of the reference, where the judge tells
    policy_config: PolicyConfig = field(default_factory=PolicyConfig)  # what the policy was made with

    @property
    def price(self) -> Price:
        """Of what the policy reads and writes; nothing where it is not known."""
        return self.policy_config.price or FREE


class Unreachable(Exception):
    """The policy cannot be asked any more; the message says why."""


class SkillAgent:
    """One policy at work on one task, once.

    A program counts from the moment that the judge has passed it; the fastest is measured again at the end.
    The first Ctrl-C ends the episode after the current step, the second at once; both keep the best so far.
    """

    def __init__(
        self, policy: Policy, setting: Setting, episode: Episode | None = None, paid: Said | None = None
    ) -> None:
        """`episode` is what an earlier process came to, `paid` the reply that it had but not yet answered."""
        self._policy = policy
        self._setting = setting
        self._episode = episode or Episode()
        self._paid = paid
        self._context = Context(
            workspace=setting.workspace,
            judge=setting.judge,
            keep_log=lambda digest, log: self._tell(Built(digest=digest, log=log)),
        )
        self._interrupt = setting.interrupt or Interrupt(
            lambda: self._tell(Busy(what="finishing this step; Ctrl-C again stops at once"))
        )
        self._has_asked = False
        self._zero_s = time.monotonic() - self._episode.elapsed_s

    def run(self, task: Task) -> Trajectory:
        """Raises InfraError when ours fails twice in a row; everything up to there has been recorded.

        A policy that cannot be asked ends the episode. Only if it cannot even be asked once, for want of
        something here or for a wrong name, is that raised: EnvironmentMissing, UsageError.
        """
        reason = ""
        try:
            with self._interrupt if self._setting.interrupt is None else nullcontext():
                with closing(self._context):  # no background job may be timed along with the best
                    stop, reason = self._converse(task)
                best = self._measured_again(self._episode.ranked())
        except KeyboardInterrupt:
            stop, best = StopReason.INTERRUPTED, self._episode.best
        except (InfraError, UsageError) as error:
            self._tell(Aborted(reason=str(error)))
            raise
        turns, cost = tuple(self._episode.turns), self._episode.cost
        self._tell(
            Finished(stop=stop, cost=cost, num_turns=len(turns), best=best, reason=reason[:MAX_REASON])
        )
        return Trajectory(task_id=task.task_id, turns=turns, best=best, stop=stop, cost=cost)

    def _converse(self, task: Task) -> tuple[StopReason, str]:
        self._begin(task)
        while True:
            stop = self._episode.ended_by_policy() or self._reason_not_to_ask()
            if stop is not None:
                return stop, ""
            try:
                said = self._reply()
            except Unreachable as unreachable:
                return StopReason.POLICY, str(unreachable)
            self._answer(said)

    def _begin(self, task: Task) -> None:
        if not self._episode.context:
            for message in opening(task):
                self._say(message)
        if self._episode.num_inherited and not self._episode.num_turns:
            self._take_over()

    def _take_over(self) -> None:
        """The last turn so far is another run's."""
        if self._episode.is_elsewhere:
            self._say(from_user(ELSEWHERE.format(device=self._setting.device)))
        elif self._episode.context[-1].role is Role.ASSISTANT:
            self._say(from_user(GO_ON))
        self._time_inherited()

    def _time_inherited(self) -> None:
        """The parent's best program, where another device judges than did there."""
        solution = self._episode.to_be_timed
        if solution is not None:
            verdict, cost = self._measured(solution, "the best so far on this device")
            self._note("fork", Solution(candidate=solution.candidate, verdict=verdict), cost)

    def _reason_not_to_ask(self) -> StopReason | None:
        """A limit, also one that the next request is sure to overrun; a reply that is paid for has none."""
        stop = self._reason_to_stop() if self._paid is None else None
        if stop is not None:
            return stop
        setting, window = self._setting, self._policy.context_tokens
        change = compacted(self._episode.context, window, setting.policy_config, setting.workspace)
        if change is not None:
            self._tell(change)
        cost, price = self._episode.cost, setting.price
        counts_tokens = cost.prompt_tokens > 0 or window is not None or price != FREE
        if self._paid is not None or not counts_tokens:
            return None
        return setting.budget.would_exceed(cost, least_tokens(self._episode.context), price)

    def _reply(self) -> Said:
        """What the policy says next. A reply that was paid for before a kill is not asked for again."""
        if self._paid is not None:
            said, self._paid = self._paid, None
            self._zero_s -= said.cost.wall_s
            return said
        self._tell(Busy(what="policy"))
        begun_s = time.monotonic()
        try:
            reply = self._policy.respond(tuple(self._episode.context), SPECS)
        except (InfraError, UsageError) as error:
            if not self._has_asked and isinstance(error, UsageError | EnvironmentMissing):
                raise
            raise Unreachable(str(error)) from error
        self._has_asked = True
        if reply.tokens is not None:
            self._tell(Sampled(turn=len(self._episode.turns) + 1, tokens=reply.tokens))
        cost = reply.cost + Cost(wall_s=max(0.0, time.monotonic() - begun_s - reply.cost.wall_s))
        return Said(message=heard(reply.message), cost=cost, is_cut=reply.is_cut)

    def _answer(self, said: Said) -> None:
        """A whole turn but for the reply: what comes of its calls, and where it led the workspace."""
        num_same = 1 + self._episode.repeats(said.message)
        self._tell(said)
        cost = said.cost
        for number, call in enumerate(said.message.tool_calls):
            cost += self._answered(call, self._why_not_run(number))
        nudge = self._nudge(said, num_same)
        if nudge is not None:
            self._say(from_user(nudge))
        cost += self._concluded(said, is_nudged=nudge is not None)
        blobs = self._setting.blobs
        snapshot = Snapshot() if blobs is None else taken(self._setting.workspace.root, blobs)
        self._tell(
            TurnEnded(
                number=len(self._episode.turns) + 1,
                cost=cost,
                files=snapshot.files,
                skipped=snapshot.skipped,
                executable=snapshot.executable,
                elapsed_s=self._elapsed_s(),
            )
        )

    def _nudge(self, said: Said, num_same: int) -> str | None:
        """What has to be told about a reply that leads nowhere."""
        return nudge_text(said, num_same)

    def _concluded(self, said: Said, *, is_nudged: bool) -> Cost:  # noqa: ARG002
        """What belongs to a turn beside the reply and its answers, and what it took: here nothing."""
        return Cost()

    def _answered(self, call: ToolCall, unwanted: str | None) -> Cost:
        outcome, cost = self._costed(
            lambda: Answer(text=f"not run: {unwanted}") if unwanted else self._run(call)
        )
        verdict = None if outcome.solution is None else outcome.solution.verdict
        self._say(Message(role=Role.TOOL, text=outcome.text, call_id=call.call_id, verdict=verdict), cost)
        if outcome.solution is not None:
            self._note(call.tool, outcome.solution)
        return cost

    def _run(self, call: ToolCall) -> Answer:
        self._tell(Busy(what=call.tool))
        return twice(lambda: answer(call, self._context))

    def _why_not_run(self, number: int) -> str | None:
        """A reply's remaining calls are answered, but not run, once the episode is to end."""
        if number >= MAX_CALLS:
            return f"a reply may have {MAX_CALLS} tool calls"
        stop = self._reason_to_stop()
        return None if stop in (None, StopReason.TURNS) else f"the episode ends ({stop})"

    def _reason_to_stop(self) -> StopReason | None:
        if self._interrupt.is_requested:
            return StopReason.INTERRUPTED
        episode = self._episode
        return self._setting.budget.exhausted(
            episode.num_turns, episode.cost, self._elapsed_s(), episode.num_fruitless
        )

    def _note(self, tool: str, solution: Solution, cost: Cost | None = None) -> None:
        """Record a verdict, and that there is a new best program if so."""
        before = self._episode.best
        has_passed = isinstance(solution.verdict, Passed)
        self._tell(
            Judged(
                tool=tool,
                digest=solution.candidate.digest,
                verdict=solution.verdict,
                candidate=solution.candidate if has_passed else None,
                cost=cost or Cost(),
            )
        )
        best = self._episode.best
        if best is not None and best is not before:
            self._tell(Improved(solution=best))

    def _measured_again(self, ranked: list[Solution]) -> Solution | None:
        """The fastest program that passes once more; the fastest with its new verdict if none does."""
        tried = []
        for solution in ranked[:FINAL_TRIES]:
            verdict, cost = self._measured(solution, "final measurement")
            again = Solution(candidate=solution.candidate, verdict=verdict)
            self._note("final", again, cost)
            if isinstance(verdict, Passed):
                return again
            tried.append(again)
        return tried[0] if tried else None

    def _measured(self, solution: Solution, what: str) -> tuple[Verdict, Cost]:
        self._tell(Busy(what=what))
        return self._costed(lambda: twice(lambda: self._setting.judge.measure(solution.candidate)))

    def _costed(self, work: Callable[[], T]) -> tuple[T, Cost]:
        """What comes of the work, and what it took; of a GPU only while the judge held one."""
        judge = self._setting.judge
        begun_s, held_s = time.monotonic(), judge.held_s
        result = work()
        return result, Cost(wall_s=time.monotonic() - begun_s, gpu_s=judge.held_s - held_s)

    def _elapsed_s(self) -> float:
        """Of the whole episode, in the processes before this one too."""
        return time.monotonic() - self._zero_s

    def _say(self, message: Message, cost: Cost | None = None) -> None:
        self._tell(Said(message=message, cost=cost or Cost()))

    def _tell(self, event: Event) -> None:
        """What is not on disk has not happened: the record comes first."""
        self._setting.listener.on_event(event)
        self._episode.apply(event)


def twice(attempt: Callable[[], T]) -> T:
    """A failure of ours may pass; what this machine lacks will not come by itself."""
    try:
        return attempt()
    except EnvironmentMissing:
        raise
    except InfraError:
        return attempt()
