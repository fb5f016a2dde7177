"""The builtin policy in a team: its partition is the plan, and its program the coder's."""

from warpsmith.agent.team.briefs import PASSED
from warpsmith.agent.team.nouns import Contract, Plan, SubTask
from warpsmith.agent.team.planning import MAX_SUB_TASKS, default_plan, plan_json
from warpsmith.core import Cost, InfraError, Message, Role, TaskError, ToolCall, ToolSpec
from warpsmith.policy.base import PolicyConfig, Reply
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.engineer import BuiltinPolicy
from warpsmith.policy.builtin.explaining import plan_text
from warpsmith.policy.builtin.graph import Value
from warpsmith.policy.builtin.plan import make_plan
from warpsmith.policy.builtin.recipes.base import Declined, Group

REFERENCE = ToolCall(call_id="builtin-plan", tool="read", arguments={"path": "model.py"})
UNCHANGED = (
    "The program that stands in the workspace is the fastest that I found for the whole module; its kernel "
    "for this sub-task was tried in all its variants. I leave it as it is."
)


class BuiltinPlanner:
    """Reads the reference, and names the groups that the builtin policy computes in one kernel each."""

    name = "builtin"
    context_tokens: int | None = None

    def __init__(self, config: PolicyConfig) -> None:
        self._config = config

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:
        """First the reference, then the plan. Raises InfraError if it may not read."""
        if "read" not in {tool.name for tool in tools}:
            raise InfraError("the builtin planner needs the tool read")
        answers = [message for message in messages if message.role is Role.TOOL]
        if not answers:
            return _said("First the reference.", REFERENCE)
        return _said(plan_json(self._plan(answers[-1].text)))

    def _plan(self, source: str) -> Plan:
        """One piece where the builtin policy has no partition: another coder may know more."""
        try:
            graph = capture(source)
            plan = make_plan(graph, self._config.gpu)
        except (Declined, TaskError):
            return default_plan("whole_program")
        groups = [_sub_task(group) for group in plan.groups]
        if not 1 <= len(groups) <= MAX_SUB_TASKS:
            return default_plan("whole_program")
        return Plan(summary=plan_text(graph, plan, self._config.gpu), sub_tasks=tuple(groups))


class BuiltinCoder:
    """Writes its whole program in the first iteration, its search included: it has no halves of one.

    Later, while that program is right, it says so and leaves it.
    """

    name = "builtin"
    context_tokens: int | None = None

    def __init__(self, config: PolicyConfig) -> None:
        self._config = config
        self._engineer: BuiltinPolicy | None = None

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:
        has_begun = any(message.role is Role.ASSISTANT for message in messages)
        told = "\n".join(message.text for message in messages if message.role is Role.USER)
        if not has_begun and f"\n{PASSED}." in told:
            return _said(UNCHANGED)
        if not has_begun or self._engineer is None:
            self._engineer = BuiltinPolicy(self._config)
        return self._engineer.respond(messages, tools)


def _sub_task(group: Group) -> SubTask:
    operators = ", ".join(node.op for node in group.nodes)
    shapes = "; ".join(
        f"{words} {', '.join(map(_value_text, values))}"
        for words, values in (("reads", group.inputs), ("writes", group.outputs))
    )
    dtypes = sorted({value.dtype for value in (*group.inputs, *group.outputs)})
    return SubTask(
        name=group.name,
        what=f"One kernel by the recipe {group.recipe} for: {operators}.",
        contract=Contract(
            shapes=shapes,
            layouts="contiguous",
            dtypes=", ".join(dtypes),
            tolerances="as the task has it",
        ),
    )


def _value_text(value: Value) -> str:
    return f"{value.name}[{','.join(map(str, value.shape))}]"


def _said(text: str, *calls: ToolCall) -> Reply:
    return Reply(message=Message(role=Role.ASSISTANT, text=text, tool_calls=calls), cost=Cost())
