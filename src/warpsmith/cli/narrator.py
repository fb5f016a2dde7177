"""An episode told in lines, as it happens. Pure: events in, text out."""

from warpsmith.agent.events import (
    Aborted,
    Busy,
    Compacted,
    Event,
    Examined,
    Finished,
    Forked,
    Improved,
    Judged,
    Planned,
    Resumed,
    Routed,
    Said,
    Started,
)
from warpsmith.core import Passed, Role, Solution, Timing, Verdict
from warpsmith.report.figures import seconds_text, speedup_text, timing_text, tokens_text
from warpsmith.report.plain import one_line
from warpsmith.report.turns import call_text, counted
from warpsmith.report.verdicts import evidence_text, verdict_text

WORK = {
    "policy": "the policy writes",
    "compile": "compiling",
    "verify": "verifying",
    "profile": "measuring",
}


class Narrator:
    """Remembers what a line needs of earlier events: the turn's number and the best so far."""

    def __init__(self) -> None:
        self.num_turns = 0
        self.doing = "setting up: the reference runs first"
        self.best: Solution | None = None

    def tell(self, event: Event) -> str | None:
        """The line that `event` is worth, if any."""
        line: str | None = None
        match event:
            case Started():
                line = f"{event.task_id} on {event.device}, written by {event.policy}"
            case Said():
                line = self._said(event)
            case Judged(tool=tool, verdict=verdict):
                line = f"  {tool}: {judged_text(verdict)}"
            case Finished():
                line = self._ended(event)
            case Aborted(reason=reason):
                line = f"broke off: {one_line(reason)}"
            case Forked() | Resumed():
                self.num_turns, line = event.turn, taken_up_text(event)
            case Compacted(num_tokens=num_tokens, kept_in=kept_in):
                line = f"  compacted at {tokens_text(num_tokens)} tokens; what was left out is in {kept_in}"
            case _:
                line = self._remembered(event)
        return line

    @property
    def status(self) -> str:
        """What goes on now, and the best so far."""
        turn = f"turn {self.num_turns} · " if self.num_turns else ""
        return f"{turn}{self.doing}{self._best_text()}"

    def _remembered(self, event: Event) -> str | None:
        """What the status line tells, and a team's steps between replies."""
        match event:
            case Busy(what=what):
                self.doing = WORK.get(what, what)
            case Improved(solution=solution):
                self.best = solution
            case Planned() | Examined() | Routed():
                return f"  {team_text(event)}"
            case _:
                pass
        return None

    def _ended(self, event: Finished) -> str:
        reason = f": {one_line(event.reason, 120)}" if event.reason else ""
        return (
            f"ended ({event.stop.value}{reason}) after {event.num_turns} turns, "
            f"{seconds_text(event.cost.wall_s)}"
        )

    def _said(self, event: Said) -> str | None:
        message = event.message
        if message.role is not Role.ASSISTANT:
            return None
        self.num_turns += 1
        did = counted([call_text(call) for call in message.tool_calls])
        said = one_line(message.text, 100)
        who = f" ({event.by})" if event.by else ""
        return one_line(f"turn {self.num_turns}{who}: {' → '.join(filter(None, (said, did)))}", 200)

    def _best_text(self) -> str:
        if self.best is None or not isinstance(self.best.verdict, Passed):
            return ""
        timing = self.best.verdict.timing
        return f" · best so far: {'correct' if timing is None else time_and_ratio(timing)}"


def team_text(event: Planned | Examined | Routed) -> str:
    """A step of a team that is nobody's reply."""
    match event:
        case Planned(plan=plan, reason=reason):
            names = "none" if plan is None else ", ".join(one.name for one in plan.sub_tasks)
            return f"plan: {one_line(names, 120)}" + (f" ({one_line(reason, 120)})" if reason else "")
        case Examined(outcome=outcome, diagnosis=diagnosis):
            return f"tested: {outcome}, limited by {diagnosis.bottleneck}: {one_line(diagnosis.finding, 120)}"
        case Routed(route=route, rule=rule):
            return f"next: {route}, since {one_line(rule, 120)}"


def taken_up_text(event: Forked | Resumed) -> str:
    """Where a run goes on from."""
    if isinstance(event, Forked):
        return f"forked from {event.parent} after turn {event.turn}"
    return f"goes on after turn {event.turn}" if event.turn else "begins again"


def judged_text(verdict: Verdict) -> str:
    """A verdict in one line: with its time if it has one, with its reason if it is bad."""
    if not isinstance(verdict, Passed):
        return f"{verdict_text(verdict)}: {one_line(evidence_text(verdict), 120)}"
    if verdict.timing is None:
        return verdict_text(verdict)
    return f"{verdict_text(verdict)}: {time_and_ratio(verdict.timing)}"


def time_and_ratio(timing: Timing) -> str:
    """'12.1 µs, 1.43× [1.41, 1.45]'; a modelled time stands alone."""
    time = timing_text(timing, timing.candidate.median_us)
    ratio = speedup_text(timing, timing.best_baseline)
    return time if ratio == "modelled" else f"{time}, {ratio}"
