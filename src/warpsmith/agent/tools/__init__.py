"""The tools that a policy is offered, by name, and how a call is answered."""

from warpsmith.agent.tools.base import Answer, Context, Tool, check_arguments
from warpsmith.agent.tools.bash import Bash
from warpsmith.agent.tools.compile import Compile
from warpsmith.agent.tools.edit import Edit
from warpsmith.agent.tools.profile import Profile
from warpsmith.agent.tools.read import Read
from warpsmith.agent.tools.verify import Verify
from warpsmith.agent.tools.write import Write
from warpsmith.agent.workspace import Refused
from warpsmith.core import ToolCall
from warpsmith.policy import INVALID_ARGUMENTS

__all__ = ["SPECS", "TOOLS", "Answer", "Context", "Tool", "answer"]

TOOLS: dict[str, Tool] = {
    tool.spec.name: tool for tool in (Bash(), Read(), Write(), Edit(), Compile(), Verify(), Profile())
}
SPECS = tuple(tool.spec for tool in TOOLS.values())


def answer(call: ToolCall, context: Context) -> Answer:
    """What comes of a call; a call that is wrong in itself is answered with what would be right.

    Raises InfraError when the failure is ours.
    """
    try:
        return _tool(call).call(call.arguments, context)
    except Refused as refusal:
        return Answer(text=f"error: {refusal}")


def _tool(call: ToolCall) -> Tool:
    """The tool that is called. Raises Refused if there is none, or the arguments are not its own."""
    if call.tool not in TOOLS:
        raise Refused(f"there is no tool {call.tool!r:.60}; the tools are {', '.join(TOOLS)}")
    if INVALID_ARGUMENTS in call.arguments:
        raise Refused(f"the arguments could not be read: {call.arguments[INVALID_ARGUMENTS]!s:.500}")
    check_arguments(TOOLS[call.tool].spec, call.arguments)
    return TOOLS[call.tool]
