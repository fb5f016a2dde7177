"""A plan as JSON: what the planner is asked for, how its answer is read, and what stands in for it."""

import json
import math
import re
from typing import Any

from warpsmith.agent.team.nouns import Contract, Plan, SubTask
from warpsmith.agent.team.reading import Unreadable, object_in, words_of

MAX_SUB_TASKS = 15
"""An iteration each is all that a run has."""

MAX_WORDS = 2_000  # characters of one field
SUB_TASKS = "sub_tasks"
SPEED = re.compile(r"\s*(\d+(?:\.\d+)?)\s*[x×]?\s*")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["summary", SUB_TASKS],
    "properties": {
        "summary": {"type": "string", "description": "the strategy: what is fused, what stays apart, why"},
        SUB_TASKS: {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_SUB_TASKS,
            "items": {
                "type": "object",
                "required": ["name", "what"],
                "properties": {
                    "name": {"type": "string", "description": "short, such as fused_norm_gelu"},
                    "what": {"type": "string", "description": "which kernels or host code, and how"},
                    "contract": {
                        "type": "object",
                        "properties": {
                            name: {"type": "string"} for name in ("shapes", "layouts", "dtypes", "tolerances")
                        },
                    },
                    "hint": {"type": "string", "description": "where to begin, what to beware of"},
                    "target": {
                        "type": "number",
                        "description": "eager's time over the whole program's once it is done; leave it out "
                        "for the last one",
                    },
                },
            },
        },
    },
}


def plan_of(text: str) -> Plan:
    """The plan in a planner's reply. Raises Unreadable, saying what is accepted, if there is none."""
    data = object_in(text, SUB_TASKS)
    items = data[SUB_TASKS]
    if not isinstance(items, list) or not items:
        raise Unreadable(
            f"{SUB_TASKS!r} must be a list of 1 to {MAX_SUB_TASKS} sub-tasks; it is empty or none"
        )
    if len(items) > MAX_SUB_TASKS:
        raise Unreadable(
            f"{len(items)} sub-tasks; {MAX_SUB_TASKS} are accepted, since each takes an iteration: join them"
        )
    sub_tasks = tuple(_sub_task(item, number) for number, item in enumerate(items, start=1))
    return Plan(summary=words_of(data.get("summary"), MAX_WORDS), sub_tasks=sub_tasks)


def default_plan(task_id: str) -> Plan:
    """One sub-task: the whole program."""
    what = "Write the whole program: the fewest passes over memory that the module allows, right and fast."
    return Plan(summary="the program as one piece", sub_tasks=(SubTask(name=task_id, what=what),))


def plan_json(plan: Plan) -> str:
    """The plan as a planner would write it; `plan_of` reads it back."""
    items = [
        {
            "name": one.name,
            "what": one.what,
            "contract": {
                "shapes": one.contract.shapes,
                "layouts": one.contract.layouts,
                "dtypes": one.contract.dtypes,
                "tolerances": one.contract.tolerances,
            },
            "hint": one.hint,
            "target": one.target,
        }
        for one in plan.sub_tasks
    ]
    return json.dumps({"summary": plan.summary, SUB_TASKS: items}, indent=1)


def _sub_task(item: object, number: int) -> SubTask:
    if isinstance(item, str) and item.strip():
        return SubTask(name=f"step {number}", what=item.strip()[:MAX_WORDS])
    if not isinstance(item, dict):
        raise Unreadable(f"{SUB_TASKS}[{number - 1}] must be an object with name and what, not {item!r:.60}")
    what = words_of(item.get("what") or item.get("description") or item.get("task"), MAX_WORDS)
    if not what:
        raise Unreadable(f"{SUB_TASKS}[{number - 1}] does not say what is to be done: give it 'what'")
    return SubTask(
        name=words_of(item.get("name") or item.get("id"), 80) or f"step {number}",
        what=what,
        contract=_contract(item.get("contract")),
        hint=words_of(item.get("hint"), MAX_WORDS),
        target=_target(item.get("target")),
    )


def _contract(given: object) -> Contract:
    if not isinstance(given, dict):
        return Contract(shapes=words_of(given, MAX_WORDS))
    shapes, layouts, dtypes, tolerances = (
        words_of(given.get(name), MAX_WORDS) for name in ("shapes", "layouts", "dtypes", "tolerances")
    )
    return Contract(shapes=shapes, layouts=layouts, dtypes=dtypes, tolerances=tolerances)


def _target(given: object) -> float | None:
    """1.5, "1.5" or "1.5x"; what is no such number sets no target."""
    match = SPEED.fullmatch(str(given)) if isinstance(given, int | float | str) else None
    speed = float(match[1]) if match is not None and not isinstance(given, bool) else math.nan
    return speed if 0.0 < speed < math.inf else None
