"""The builtin policy in a team: its partition is the plan, and its program the coder's."""

import re
from collections.abc import Sequence

from warpsmith.agent.team.briefs import AGAIN, ANOTHER_PLAN, PASSED, YOUR_SUB_TASK
from warpsmith.agent.team.nouns import Contract, Plan, SubTask
from warpsmith.agent.team.planning import MAX_SUB_TASKS, default_plan, plan_json
from warpsmith.agent.team.tuning import GroupPolicy
from warpsmith.core import Cost, InfraError, Message, Provenance, Role, TaskError, ToolCall, ToolSpec
from warpsmith.policy.base import PolicyConfig, Reply
from warpsmith.policy.builtin.capture import capture
from warpsmith.policy.builtin.engineer import BuiltinPolicy
from warpsmith.policy.builtin.explaining import plan_text
from warpsmith.policy.builtin.graph import Graph, Value
from warpsmith.policy.builtin.plan import Plan as BuiltinPlan
from warpsmith.policy.builtin.plan import make_plan
from warpsmith.policy.builtin.recipes.base import Declined
from warpsmith.policy.builtin.search import Coordinate, Limits, SearchConfig, coordinates_of

REFERENCE = ToolCall(call_id="builtin-plan", tool="read", arguments={"path": "model.py"})
UNCHANGED = (
    "The program that stands in the workspace is right, and what I know of for this sub-task has been tried. "
    "I leave it as it is."
)
WHOLE, PLAINLY = "whole_program", "whole_program_plainly"
SUB_TASK = re.compile(rf"^{YOUR_SUB_TASK}\s+(\w+):", re.MULTILINE)
ANY_SPEED = 0.01
"""A target below all that is right: a step of a plan whose end alone can be fast."""

NO_SEARCH = SearchConfig(limits=dict.fromkeys(Provenance, Limits(patience=0, max_tries=0)))


class BuiltinPlanner:
    """Reads the reference, and names the groups that the builtin policy computes in one kernel each.

    The first sub-task is the whole program, each kernel in its first variant; each later one looks for the
    best variant of one kernel, the most expensive first. Whatever is right gets on to the next: only the last
    is held to the run's target.
    """

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
        is_again = any(ANOTHER_PLAN in one.text for one in messages if one.role is Role.USER)
        return _said(plan_json(default_plan(WHOLE) if is_again else self._plan(answers[-1].text)))

    def _plan(self, source: str) -> Plan:
        """One piece where the builtin policy has no partition: another coder may know more."""
        try:
            graph = capture(source)
            plan = make_plan(graph, self._config.gpu)
        except (Declined, TaskError):
            return default_plan(WHOLE)
        chosen = self._to_be_tuned(plan)
        if not chosen:
            return default_plan(WHOLE)
        first = SubTask(
            name=PLAINLY,
            what="Write the whole program, each kernel in the variant that is likely to be good.",
            contract=_contract(graph.inputs, _returned(graph)),
            target=ANY_SPEED,
        )
        tuned = [_sub_task(one, is_last=one is chosen[-1]) for one in chosen]
        return Plan(summary=plan_text(graph, plan, self._config.gpu), sub_tasks=(first, *tuned))

    def _to_be_tuned(self, plan: BuiltinPlan) -> tuple[Coordinate, ...]:
        """What there is to choose, if there is more than one thing; else it is no team's work."""
        if not plan.groups:
            return ()
        coordinates = coordinates_of(plan, self._config.gpu, self._config.precision)
        open_ = [one for one in coordinates if len(one.variants) > 1][: MAX_SUB_TASKS - 1]
        return tuple(open_) if len(open_) > 1 else ()


class BuiltinCoder:
    """In a plan of its own, first the whole program plainly, and then a kernel an iteration.

    In another's plan it writes its whole program at once, its search included, and leaves it while it is
    right: it has no halves of one.
    """

    name = "builtin"
    context_tokens: int | None = None

    def __init__(self, config: PolicyConfig) -> None:
        self._config = config
        self._engineer: BuiltinPolicy | None = None

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:
        has_begun = any(message.role is Role.ASSISTANT for message in messages)
        if not has_begun:
            self._engineer = None
        if self._engineer is None:
            told = "\n".join(message.text for message in messages if message.role is Role.USER)
            self._engineer = self._due(told)
        return _said(UNCHANGED) if self._engineer is None else self._engineer.respond(messages, tools)

    def _due(self, told: str) -> BuiltinPolicy | None:
        """Whose turn it is by what the coder was told; None: there is nothing left to do."""
        found = SUB_TASK.search(told)
        name = found[1] if found is not None else ""
        if f"\n{PASSED}." in told:
            return None if name in ("", WHOLE, PLAINLY) or AGAIN in told else GroupPolicy(self._config, name)
        return BuiltinPolicy(self._config, NO_SEARCH if name == PLAINLY else None)


def _sub_task(coordinate: Coordinate, *, is_last: bool) -> SubTask:
    group, num_alike = coordinate.groups[0], len(coordinate.groups)
    operators = ", ".join(node.op for node in group.nodes)
    alike = f" The same for {num_alike - 1} more of the same work." if num_alike > 1 else ""
    return SubTask(
        name=group.name,
        what=f"The kernel by the recipe {group.recipe} for: {operators}; in its best variant.{alike}",
        contract=_contract(group.inputs, group.outputs),
        target=None if is_last else ANY_SPEED,
    )


def _contract(taken: Sequence[Value], given: Sequence[Value]) -> Contract:
    shapes = "; ".join(
        f"{words} {', '.join(map(_value_text, values))}"
        for words, values in (("reads", taken), ("writes", given))
    )
    return Contract(
        shapes=shapes,
        layouts="contiguous",
        dtypes=", ".join(sorted({value.dtype for value in (*taken, *given)})),
        tolerances="as the task has it",
    )


def _returned(graph: Graph) -> tuple[Value, ...]:
    return tuple(value for node in graph.nodes for value in node.outputs if graph.is_returned(value))


def _value_text(value: Value) -> str:
    return f"{value.name}[{','.join(map(str, value.shape))}]"


def _said(text: str, *calls: ToolCall) -> Reply:
    return Reply(message=Message(role=Role.ASSISTANT, text=text, tool_calls=calls), cost=Cost())
