"""Find lines by a pattern."""

from typing import Any

from warpsmith.agent.tools.base import Answer, Context, parameters, shortened
from warpsmith.agent.tools.search import search
from warpsmith.agent.workspace.folder import Refused
from warpsmith.core import ToolSpec

MAX_CONTEXT = 20


class Grep:
    """Line by line, with Python's regular expressions."""

    spec = ToolSpec(
        name="grep",
        description="Search the workspace's text files for lines that match a regular expression (Python's).",
        parameters=parameters(
            {"pattern": "string: the regular expression"},
            {
                "path": "string: a file or folder, the workspace unless given",
                "glob": "string: only files of such names, as *.cu or kernels/**/*.h",
                "ignore_case": "boolean: whether a and A are the same",
                "context": f"integer: lines to show around each match, {MAX_CONTEXT} at most",
            },
        ),
    )

    def call(self, arguments: dict[str, Any], context: Context) -> Answer:
        if not 0 <= arguments.get("context", 0) <= MAX_CONTEXT:
            raise Refused(f"context must be from 0 to {MAX_CONTEXT}")
        return Answer(text=shortened(search(context.workspace, "grep", arguments)))
