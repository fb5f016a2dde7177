"""Find files by their names."""

from typing import Any

from warpsmith.agent.tools.base import Answer, Context, parameters, shortened
from warpsmith.agent.tools.search import search
from warpsmith.core import ToolSpec


class Glob:
    """Names alone, in order; links are not followed."""

    spec = ToolSpec(
        name="glob",
        description="List the files of the workspace whose name matches a pattern such as kernels/**/*.cu.",
        parameters=parameters(
            {"pattern": "string: * and ? stay within a folder, ** crosses them; without / any folder"},
            {"path": "string: the folder to look in, the workspace unless given"},
        ),
    )

    def call(self, arguments: dict[str, Any], context: Context) -> Answer:
        return Answer(text=shortened(search(context.workspace, "glob", arguments)))
