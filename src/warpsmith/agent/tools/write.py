"""Write a whole file."""

from typing import Any

from warpsmith.agent.tools.base import Answer, Context, parameters
from warpsmith.core import ToolSpec


class Write:
    """A new file, or one whose present text the policy has seen."""

    spec = ToolSpec(
        name="write",
        description="Write a whole file, making its folders. A file that exists must have been read first.",
        parameters=parameters({"path": "string: relative to the workspace", "text": "string: all of it"}),
    )

    def call(self, arguments: dict[str, Any], context: Context) -> Answer:
        is_new = context.workspace.write(arguments["path"], arguments["text"])
        num_lines = len(arguments["text"].splitlines())
        return Answer(text=f"{'wrote' if is_new else 'replaced'} {arguments['path']} ({num_lines} lines)")
