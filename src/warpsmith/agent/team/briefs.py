"""What each of a team is told when the word comes to it: a conversation of its own, made anew each time.

A member hears the task, the plan, the program as it stands and what was found last, and nothing of how the
others came to it: what was said in earlier iterations does not pile up.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warpsmith.agent.feedback import verdict_text
from warpsmith.agent.prompts import from_user, opening
from warpsmith.agent.team.guides import guide_text
from warpsmith.agent.team.nouns import Diagnosis, Figure, Member, Plan, Source, SubTask
from warpsmith.agent.team.planning import plan_json
from warpsmith.agent.team.state import TeamState, Tried
from warpsmith.agent.tools.base import shortened
from warpsmith.core import Candidate, Message, Passed, Role, Task, Verdict
from warpsmith.judge.profile import Operator, Profile
from warpsmith.judge.protocol import NamedTensor

MAX_FILE = 40_000  # characters of one file
MAX_OPERATORS = 60
MAX_NAME = 200  # of a tensor: a stranger's module gave it
MAX_TENSORS = 60
PASSED = "The program in the workspace is right"
"""How a coder is told so; the builtin one looks for it."""

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
        _profile_text(table.profile),
    ]
    if state.plan is not None:
        parts.append(
            f"The plan so far did not get there:\n\n{plan_json(state.plan)}\n\nWhat was tried:\n"
            f"{_history_text(state.history)}\n\nMake another plan. Do not repeat what has failed."
        )
    return parts


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
    return [_overview(state.plan, state.index), f"# Your sub-task\n\n{_sub_task_text(state.sub_task)}"]


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


def _profile_text(profile: Profile | None) -> str:
    if profile is None:
        return f"Of its shapes, operators and times nothing is known here: {Source.UNAVAILABLE}."
    floor = profile.floor
    figures = (
        Figure(name="eager's time", value=profile.eager_us, unit="us", source=Source.MODELLED),
        Figure(name="torch.compile's time", value=profile.compiled_us, unit="us", source=Source.MODELLED),
        Figure(name="floor by bandwidth", value=floor.bytes_us, unit="us", source=Source.DERIVED),
        Figure(name="floor by arithmetic", value=floor.flops_us, unit="us", source=Source.DERIVED),
        Figure(name="least bytes read", value=profile.read_bytes, unit="bytes", source=Source.MEASURED),
        Figure(name="least bytes written", value=profile.written_bytes, unit="bytes", source=Source.MEASURED),
    )
    lines = [
        f"# The reference on {profile.gpu.name}",
        "",
        *(f"- {figure}" for figure in figures),
        "",
        f"Inputs: {_tensors_text(profile.inputs)}",
        f"Weights: {_tensors_text(profile.weights)}",
        "",
        "What eager runs, in order (bytes given to it, operations of products, modelled time):",
        *_operator_lines(profile.operators),
    ]
    return "\n".join(lines)


def _tensors_text(tensors: Sequence[NamedTensor]) -> str:
    return _listed(map(_tensor_text, tensors), len(tensors))


def _tensor_text(tensor: NamedTensor) -> str:
    return f"{tensor.name[:MAX_NAME]} {tensor.dtype}[{','.join(map(str, tensor.shape))}]"


def _listed(texts: Iterable[str], count: int) -> str:
    shown = [text for text, _ in zip(texts, range(MAX_TENSORS), strict=False)]
    rest = f" and {count - MAX_TENSORS} more" if count > MAX_TENSORS else ""
    return ", ".join(shown) + rest if shown else "none"


def _operator_lines(operators: Sequence[Operator]) -> list[str]:
    lines = [
        f"- {one.name}: {one.num_bytes:,} bytes{f', {one.flops:,} FLOP' if one.flops else ''}, "
        f"{one.modelled_us:.1f} us"
        for one in operators[:MAX_OPERATORS]
    ]
    rest = len(operators) - MAX_OPERATORS
    return [*lines, f"- and {rest} more"] if rest > 0 else lines
