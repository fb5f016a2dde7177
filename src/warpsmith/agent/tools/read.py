"""Look at a file."""

from typing import Any

from warpsmith.agent.tools.base import Answer, Context, parameters, shortened
from warpsmith.agent.workspace.folder import Refused
from warpsmith.core import ToolSpec

MAX_READ = 60_000  # whole files: what is shown cut cannot be edited


class Read:
    """The text as it is, without line numbers, so that it can be quoted in an edit."""

    spec = ToolSpec(
        name="read",
        description="Read a text file of the workspace.",
        parameters=parameters(
            {"path": "string: relative to the workspace"},
            {"first_line": "integer: where to begin, from 1", "num_lines": "integer: how many lines to show"},
        ),
    )

    def call(self, arguments: dict[str, Any], context: Context) -> Answer:
        text = context.workspace.read(arguments["path"])
        first, count = arguments.get("first_line", 1), arguments.get("num_lines")
        if first < 1 or (count is not None and count < 1):
            raise Refused("first_line and num_lines count from 1")
        if first > 1 or count is not None:
            lines = text.splitlines(keepends=True)
            text = "".join(lines[first - 1 : None if count is None else first - 1 + count])
        return Answer(text=shortened(text, MAX_READ) or "(empty)")
