"""Change one place in a file."""

from typing import Any

from warpsmith.agent.tools.base import Answer, Context, parameters
from warpsmith.agent.workspace.changes import Change
from warpsmith.core import ToolSpec


class Edit:
    """An exact, unique match is replaced."""

    spec = ToolSpec(
        name="edit",
        description="Replace one place in a file that was read; `old` must match exactly once.",
        parameters=parameters(
            {
                "path": "string: relative to the workspace",
                "old": "string: the text that stands there now",
                "new": "string: the text to stand there instead",
            }
        ),
    )

    def call(self, arguments: dict[str, Any], context: Context) -> Answer:
        change = Change(old=arguments["old"], new=arguments["new"])
        (line,) = context.workspace.edit(arguments["path"], (change,))
        return Answer(text=f"edited {arguments['path']} at line {line}")
