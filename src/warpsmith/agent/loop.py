"""One episode: the policy speaks, its tools answer, until it has finished or a limit is reached."""

import time
from collections.abc import Callable
from typing import TypeVar

from warpsmith.agent.budget import Budget
from warpsmith.agent.events import Aborted, Built, Busy, Event, Finished, Improved, Judged, Listener, Said
from warpsmith.agent.interrupt import Interrupt
from warpsmith.agent.judging import Judging
from warpsmith.agent.tools import SPECS, Answer, Context, answer
from warpsmith.agent.workspace import REFERENCE, Workspace, skill_text
from warpsmith.core import (
    Cost,
    EnvironmentMissing,
    InfraError,
    Message,
    Passed,
    Provenance,
    Role,
    Solution,
    StopReason,
    Task,
    ToolCall,
    Trajectory,
    Turn,
)
from warpsmith.policy import Policy

T = TypeVar("T")

MAX_CALLS = 32  # of one reply
FINAL_TRIES = 3
JUDGING_TOOLS = ("verify", "profile")


class SkillAgent:
    """One policy at work on one task, once.

    A program counts from the moment that the judge has passed it; the fastest is measured again at the end.
    The first Ctrl-C ends the episode after the current step, the second at once; both keep the best so far.
    """

    def __init__(
        self, policy: Policy, judge: Judging, workspace: Workspace, budget: Budget, record: Listener
    ) -> None:
        self._policy = policy
        self._judge = judge
        self._workspace = workspace
        self._budget = budget
        self._record = record
        self._context = Context(
            workspace=workspace,
            judge=judge,
            keep_log=lambda digest, log: self._tell(Built(digest=digest, log=log)),
        )
        self._interrupt = Interrupt(
            lambda: self._tell(Busy(what="finishing this step; Ctrl-C again stops at once"))
        )
        self._started_s = time.monotonic()
        self._messages: list[Message] = []
        self._turns: list[Turn] = []
        self._cost = Cost()
        self._passed: dict[str, Solution] = {}

    def run(self, task: Task) -> Trajectory:
        """Raises InfraError when ours fails twice in a row; everything up to there has been recorded."""
        try:
            with self._interrupt:
                stop = self._converse(task)
                best = self._measured_again(self._ranked())
        except KeyboardInterrupt:
            stop, best = StopReason.INTERRUPTED, self._best()
        except InfraError as error:
            self._tell(Aborted(reason=str(error)))
            raise
        self._tell(Finished(stop=stop, cost=self._cost, num_turns=len(self._turns), best=best))
        return Trajectory(
            task_id=task.task_id, turns=tuple(self._turns), best=best, stop=stop, cost=self._cost
        )

    def _converse(self, task: Task) -> StopReason:
        for message in opening(task):
            self._say(message, Cost())
        while True:
            stop = self._reason_to_stop()
            if stop is None and not self._step().reply.tool_calls:
                stop = StopReason.FINISHED
            if stop is not None:
                return stop

    def _step(self) -> Turn:
        self._tell(Busy(what="policy"))
        begun_s = time.monotonic()
        reply = self._policy.respond(tuple(self._messages), SPECS)
        cost = reply.cost + Cost(wall_s=max(0.0, time.monotonic() - begun_s - reply.cost.wall_s))
        self._say(reply.message, cost)
        answers = []
        for number, call in enumerate(reply.message.tool_calls):
            message, spent = self._answered(call, self._why_not_run(number))
            answers.append(message)
            cost += spent
        turn = Turn(reply=reply.message, answers=tuple(answers), cost=cost)
        self._turns.append(turn)
        return turn

    def _answered(self, call: ToolCall, unwanted: str | None) -> tuple[Message, Cost]:
        begun_s = time.monotonic()
        outcome = Answer(text=f"not run: {unwanted}") if unwanted else self._run(call)
        cost = self._spent_since(begun_s, on_gpu=call.tool in JUDGING_TOOLS)
        message = Message(
            role=Role.TOOL,
            text=outcome.text,
            call_id=call.call_id,
            verdict=None if outcome.solution is None else outcome.solution.verdict,
        )
        self._say(message, cost)
        if outcome.solution is not None:
            self._note(call.tool, outcome.solution)
        return message, cost

    def _run(self, call: ToolCall) -> Answer:
        self._tell(Busy(what=call.tool))
        return _twice(lambda: answer(call, self._context))

    def _why_not_run(self, number: int) -> str | None:
        """A reply's remaining calls are answered, but not run, once the episode is to end."""
        if number >= MAX_CALLS:
            return f"a reply may have {MAX_CALLS} tool calls"
        stop = self._reason_to_stop()
        return None if stop in (None, StopReason.TURNS) else f"the episode ends ({stop})"

    def _reason_to_stop(self) -> StopReason | None:
        if self._interrupt.is_requested:
            return StopReason.INTERRUPTED
        return self._budget.exhausted(len(self._turns), self._cost, time.monotonic() - self._started_s)

    def _note(self, tool: str, solution: Solution) -> None:
        """Record a verdict; keep the program if it has passed, drop it if it has failed since it passed."""
        digest = solution.candidate.digest
        self._tell(Judged(tool=tool, digest=digest, verdict=solution.verdict))
        before = self._best()
        known = self._passed.pop(digest, None)
        if isinstance(solution.verdict, Passed):
            self._passed[digest] = min(solution, known or solution, key=_rank)
        best = self._best()
        if best is not None and best is not before:
            self._tell(Improved(solution=best))

    def _best(self) -> Solution | None:
        return next(iter(self._ranked()), None)

    def _ranked(self) -> list[Solution]:
        """All programs that have passed, the fastest first; among those never timed, the latest."""
        latest_first = list(self._passed.values())[::-1]
        return sorted(latest_first, key=_rank)

    def _measured_again(self, ranked: list[Solution]) -> Solution | None:
        """The fastest program that passes once more; the fastest with its new verdict if none does."""
        tried = []
        for solution in ranked[:FINAL_TRIES]:
            again = self._finally_judged(solution)
            if isinstance(again.verdict, Passed):
                return again
            tried.append(again)
        return tried[0] if tried else None

    def _finally_judged(self, solution: Solution) -> Solution:
        self._tell(Busy(what="final measurement"))
        begun_s = time.monotonic()
        verdict = _twice(lambda: self._judge.measure(solution.candidate))
        self._cost += self._spent_since(begun_s, on_gpu=True)
        self._tell(Judged(tool="final", digest=solution.candidate.digest, verdict=verdict))
        return Solution(candidate=solution.candidate, verdict=verdict)

    def _spent_since(self, begun_s: float, *, on_gpu: bool) -> Cost:
        wall_s = time.monotonic() - begun_s
        return Cost(wall_s=wall_s, gpu_s=wall_s if on_gpu and self._workspace.has_gpu else 0.0)

    def _say(self, message: Message, cost: Cost) -> None:
        self._messages.append(message)
        self._cost += cost
        self._tell(Said(message=message, cost=cost))

    def _tell(self, event: Event) -> None:
        self._record.on_event(event)


def opening(task: Task) -> tuple[Message, ...]:
    """The guide, and the task with its reference."""
    text = (
        f"Make the module in {REFERENCE} faster (task {task.task_id}). It is, in full:\n\n"
        f"```python\n{task.source.rstrip()}\n```\n\n"
        f"You stand in the workspace. Write model_new.py and kernels/, compile, verify, profile, improve; "
        f"answer without a tool call when you are done."
    )
    return Message(role=Role.SYSTEM, text=skill_text()), Message(role=Role.USER, text=text)


def _rank(solution: Solution) -> tuple[int, float]:
    """Lower is better: measured before modelled before never timed, then by the candidate's median."""
    timing = solution.verdict.timing if isinstance(solution.verdict, Passed) else None
    if timing is None:
        return 2, 0.0
    return int(timing.provenance is not Provenance.MEASURED), timing.candidate.median_us


def _twice(attempt: Callable[[], T]) -> T:
    """A failure of ours may pass; what this machine lacks will not come by itself."""
    try:
        return attempt()
    except EnvironmentMissing:
        raise
    except InfraError:
        return attempt()
