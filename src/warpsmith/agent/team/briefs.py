"""What each of a team is told when the word comes to it: a conversation of its own, made anew each time.

A member hears the task, the plan, the program as it stands and what was found last, and nothing of how the
others came to it: what was said in earlier iterations does not pile up.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.agent.feedback import verdict_text
from warpsmith.agent.prompts import from_user, opening
from warpsmith.agent.team.guides import guide_text
from warpsmith.agent.team.nouns import Diagnosis, Member, Outcome, Plan, SubTask
from warpsmith.agent.team.planning import plan_json
from warpsmith.agent.team.profiles import profile_text
from warpsmith.agent.team.state import TeamState, Tried
from warpsmith.agent.tools.base import shortened
from warpsmith.core import Candidate, Message, Passed, Role, Task, Verdict
from warpsmith.judge.profile import Profile

MAX_FILE = 40_000  # characters of one file
PASSED = "The program in the workspace is right"
"""How a coder is told so; the builtin one looks for it, and for the next three."""

YOUR_SUB_TASK = "# Your sub-task"
AGAIN = "You have worked on it before"
ANOTHER_PLAN = "Make another plan."

REPAIR = "Your answer could not be read as a plan: {reason}. Answer again, with the JSON object alone."


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What lies before all of a team when the word goes to one of them."""

    task: Task
    profile: Profile | None
    program: Candidate | None  # as it stands in the workspace
    state: TeamState
    max_iterations: int


def brief(member: Member, table: Table) -> tuple[Message, ...]:
    """The guide of `member`, and all that it is told."""
    guide = guide_text(member, max_iterations=table.max_iterations)
    match member:
        case Member.PLANNER:
            parts = _planner_parts(table)
        case Member.CODER:
            general, reference = opening(table.task)
            guide, parts = f"{general.text}\n{guide}", [reference.text, *_coder_parts(table)]
        case Member.VERIFIER:
            parts = _verifier_parts(table)
    return Message(role=Role.SYSTEM, text=guide), from_user("\n\n".join(parts))


def _planner_parts(table: Table) -> list[str]:
    """The reference and what is known of it; for a new plan also the old one and what came of it."""
    state = table.state
    parts = [
        f"The task is {table.task.task_id}. Its reference:\n\n{_reference_text(table.task)}",
        profile_text(table.profile),
    ]
    if state.plan is not None:
        parts.append(_standing_text(table))
        parts.append(
            f"The plan so far did not get there:\n\n{plan_json(state.plan)}\n\nWhat was tried:\n"
            f"{_history_text(state.history)}\n\n{ANOTHER_PLAN} Do not repeat what has failed."
        )
    return parts


def _standing_text(table: Table) -> str:
    """What a new plan may build on."""
    program, state = table.program, table.state
    verdict = None if program is None else state.known.get(program.digest)
    done = dict.fromkeys(one.sub_task for one in state.history if one.result.outcome is Outcome.GOOD)
    told = "There is no right program in the workspace: the first sub-task has to make one."
    if isinstance(verdict, Passed):
        time = "" if verdict.timing is None else f" and takes {verdict.timing.candidate.median_us:.1f} us"
        told = f"{PASSED}{time}: what is done in it stays done, and the new plan goes on from there."
    return f"{told}\n\nSub-tasks that reached their target: {', '.join(done) or 'none'}."


def _coder_parts(table: Table) -> list[str]:
    """One sub-task, the program as it stands, and what was found in it."""
    state, parts = table.state, _plan_parts(table.state)
    if table.program is not None:
        parts.append(f"# The program so far\n\n{_program_text(table.program)}")
    if state.diagnosis is not None:
        parts.append(_found_text(state.diagnosis, state.verdict))
    return parts


def _verifier_parts(table: Table) -> list[str]:
    """The program, the verdict on it, and what the rules make of that."""
    state = table.state
    parts = [f"The reference:\n\n{_reference_text(table.task)}", *_plan_parts(state)]
    if table.program is not None:
        parts.append(f"# The program\n\n{_program_text(table.program)}")
    if state.verdict is not None:
        parts.append(f"# The verdict\n\n{verdict_text(state.verdict)}")
    if state.diagnosis is not None:
        parts.append(f"# By the rules\n\n{diagnosis_text(state.diagnosis)}")
    return [*parts, f"# Iterations so far\n\n{_history_text(state.history)}"]


def _reference_text(task: Task) -> str:
    return f"```python\n{task.source.rstrip()}\n```"


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """Finding, evidence and the one suggestion."""
    lines = [
        f"limited by: {diagnosis.bottleneck}",
        f"finding: {diagnosis.finding}",
        *(f"- {figure}" for figure in diagnosis.evidence),
        f"suggestion: {diagnosis.suggestion}",
    ]
    return "\n".join(lines)


def _found_text(diagnosis: Diagnosis, verdict: Verdict | None) -> str:
    is_right = isinstance(verdict, Passed)
    state = f"{PASSED}." if is_right else "The last program did not get there."
    return f"# What was found in it\n\n{state}\n\n{diagnosis_text(diagnosis)}"


def _plan_parts(state: TeamState) -> list[str]:
    if state.plan is None:
        return []
    again = f"\n\n{AGAIN}: {len(state.results)} times so far." if state.results else ""
    told = f"{YOUR_SUB_TASK}\n\n{_sub_task_text(state.sub_task)}{again}"
    return [_overview(state.plan, state.index), told]


def _overview(plan: Plan, index: int) -> str:
    marks = ["done" if place < index else "now" if place == index else "later" for place in _places(plan)]
    lines = [f"{place + 1}. [{marks[place]}] {one.name}" for place, one in enumerate(plan.sub_tasks)]
    return "\n".join(["# The plan", "", plan.summary, "", *lines])


def _places(plan: Plan) -> range:
    return range(len(plan.sub_tasks))


def _sub_task_text(sub_task: SubTask) -> str:
    contract = sub_task.contract
    told = {
        "shapes": contract.shapes,
        "layouts": contract.layouts,
        "dtypes": contract.dtypes,
        "tolerances": contract.tolerances,
        "hint": sub_task.hint,
        "target": f"eager's time over the program's of {sub_task.target:g}" if sub_task.target else "",
    }
    lines = [f"- {name}: {text}" for name, text in told.items() if text]
    return "\n".join([f"{sub_task.name}: {sub_task.what}", *lines])


def _program_text(program: Candidate) -> str:
    return "\n\n".join(_file_text(path, shortened(text, MAX_FILE)) for path, text in program.files)


def _file_text(path: str, text: str) -> str:
    return f"{path}\n```{'python' if path.endswith('.py') else 'cuda'}\n{text.rstrip()}\n```"


def _history_text(history: Sequence[Tried]) -> str:
    lines = [
        f"{tried.number}. {tried.sub_task}: {tried.result.outcome}"
        f"{'' if tried.result.time_us is None else f', {tried.result.time_us:.1f} us'}"
        f" ({tried.diagnosis.finding.splitlines()[0][:200] if tried.diagnosis.finding else 'no finding'})"
        for tried in history
    ]
    return "\n".join(lines) or "none"
