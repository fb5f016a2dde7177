"""Keep a list of what is to be done."""

from typing import Any

from warpsmith.agent.tools.base import Answer, Context, Item, array, parameters
from warpsmith.agent.workspace.folder import Refused
from warpsmith.core import ToolSpec

MAX_ITEMS = 50
MAX_CHARACTERS = 500
MARKS = {"open": " ", "doing": ">", "done": "x"}


class Todo:
    """The whole list is given each time, so what is told back is all that there is."""

    spec = ToolSpec(
        name="todo",
        description="Replace your list of things to do; it is shown back. Plan with it, and keep it true.",
        parameters=parameters(
            {
                "items": array(
                    "the whole list",
                    parameters(
                        {
                            "text": "string: what is to be done",
                            "status": {"type": "string", "enum": list(MARKS), "description": "how it stands"},
                        }
                    ),
                    at_least=0,
                    at_most=MAX_ITEMS,
                )
            }
        ),
    )

    def call(self, arguments: dict[str, Any], context: Context) -> Answer:
        items = tuple(
            Item(text=" ".join(one["text"].split()), status=one["status"]) for one in arguments["items"]
        )
        for number, item in enumerate(items, start=1):
            if not 0 < len(item.text) <= MAX_CHARACTERS:
                raise Refused(f"item {number} must have a text of {MAX_CHARACTERS} characters at most")
        context.todo = items
        lines = [f"[{MARKS[item.status]}] {item.text}" for item in items]
        return Answer(text="\n".join(lines) or "the list is empty")
