"""A trajectory as turns: what was said, what was done, what came of it. One pass, however long it is."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from warpsmith.agent.events import Aborted, Event, Judged, Resumed, Said
from warpsmith.core import Cost, Role, ToolCall, Verdict
from warpsmith.report.plain import one_line
from warpsmith.report.runs import Line

NO_TOOL = ("final", "fork")  # verdicts that no turn asked for
MAX_SAID = 400  # characters kept of what was said


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSummary:
    """One reply of the policy, and the last verdict on what it did."""

    said: str
    did: tuple[str, ...]  # "write kernels/a.cu", "compile"
    verdict: Verdict | None
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectorySummary:
    """A whole trajectory. What precedes the first reply belongs to no turn, nor does the final verdict."""

    turns: tuple[TurnSummary, ...]
    num_damaged_lines: int
    num_resumed: int  # how often it was taken up again; turns that were done anew are here once
    aborted: str | None  # the failure of ours that it broke off for


def summarize(lines: Iterable[Line]) -> TrajectorySummary:
    """Damaged lines are counted and passed over."""
    turns: list[TurnSummary] = []
    num_damaged, num_resumed, aborted = 0, 0, None
    for line in lines:
        event = line.event
        if event is None:
            num_damaged += 1
        elif isinstance(event, Aborted):
            aborted = event.reason
        elif isinstance(event, Resumed):
            num_resumed, aborted = num_resumed + 1, None
            del turns[event.turn :]
        elif isinstance(event, Said) and event.message.role is Role.ASSISTANT:
            turns.append(_begun(event))
        elif turns:
            turns[-1] = _continued(turns[-1], event)
    return TrajectorySummary(
        turns=tuple(turns), num_damaged_lines=num_damaged, num_resumed=num_resumed, aborted=aborted
    )


def call_text(call: ToolCall) -> str:
    """'write kernels/a.cu', 'bash ls -l', 'compile'."""
    arguments = (call.arguments.get(name) for name in ("path", "command"))
    what = next((argument for argument in arguments if isinstance(argument, str)), "")
    return one_line(f"{call.tool} {what}")


def counted(did: Sequence[str]) -> str:
    """'write ×4, compile'; a tool used once is named with what it was used on."""
    tools = Counter(call.partition(" ")[0] for call in did)
    once = {call.partition(" ")[0]: call for call in did}
    return ", ".join(once[tool] if count == 1 else f"{tool} ×{count}" for tool, count in tools.items())


def _begun(event: Said) -> TurnSummary:
    did = tuple(call_text(call) for call in event.message.tool_calls)
    said = f"{event.by}: {event.message.text}" if event.by else event.message.text
    return TurnSummary(said=one_line(said, MAX_SAID), did=did, verdict=None, cost=event.cost)


def _continued(turn: TurnSummary, event: Event) -> TurnSummary:
    if isinstance(event, Said):
        return replace(turn, cost=turn.cost + event.cost)
    if isinstance(event, Judged) and event.tool not in NO_TOOL:
        return replace(turn, verdict=event.verdict)
    return turn
