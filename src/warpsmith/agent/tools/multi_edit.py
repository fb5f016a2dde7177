"""Change several places in a file."""

from typing import Any

from warpsmith.agent.tools.base import Answer, Context, array, parameters
from warpsmith.agent.workspace.changes import Change
from warpsmith.core import ToolSpec

MAX_EDITS = 50


class MultiEdit:
    """All of the edits or none: a file is never left half changed."""

    spec = ToolSpec(
        name="multi_edit",
        description=(
            "Make several replacements in one file that was read: all of them, or none if one does not "
            "match. Each sees what those before it have left."
        ),
        parameters=parameters(
            {
                "path": "string: relative to the workspace",
                "edits": array(
                    "the replacements, in order",
                    parameters(
                        {
                            "old": "string: the text that stands there now",
                            "new": "string: the text to stand there instead",
                        },
                        {"all": "boolean: replace it wherever it stands; else it must match exactly once"},
                    ),
                    at_least=1,
                    at_most=MAX_EDITS,
                ),
            }
        ),
    )

    def call(self, arguments: dict[str, Any], context: Context) -> Answer:
        changes = tuple(
            Change(old=edit["old"], new=edit["new"], is_everywhere=edit.get("all", False))
            for edit in arguments["edits"]
        )
        lines = context.workspace.edit(arguments["path"], changes)
        places = f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
        return Answer(text=f"made {len(lines)} edits in {arguments['path']}, at {places}")
