"""The tools that a policy is offered, by name, and how a call is answered."""

from warpsmith.agent.tools.arguments import check_arguments
from warpsmith.agent.tools.base import Answer, Context, Tool
from warpsmith.agent.tools.bash import Bash
from warpsmith.agent.tools.bash_output import BashOutput
from warpsmith.agent.tools.compile import Compile
from warpsmith.agent.tools.docs import Docs
from warpsmith.agent.tools.edit import Edit
from warpsmith.agent.tools.glob import Glob
from warpsmith.agent.tools.grep import Grep
from warpsmith.agent.tools.kill_bash import KillBash
from warpsmith.agent.tools.multi_edit import MultiEdit
from warpsmith.agent.tools.profile import Profile
from warpsmith.agent.tools.read import Read
from warpsmith.agent.tools.todo import Todo
from warpsmith.agent.tools.verify import Verify
from warpsmith.agent.tools.write import Write
from warpsmith.agent.workspace.folder import Refused
from warpsmith.core import ToolCall
from warpsmith.policy import INVALID_ARGUMENTS

__all__ = ["SPECS", "TOOLS", "Answer", "Context", "Tool", "answer"]

FILES = (Read(), Write(), Edit(), MultiEdit(), Glob(), Grep())
COMMANDS = (Bash(), BashOutput(), KillBash())
QUESTIONS = (Compile(), Verify(), Profile())
TOOLS: dict[str, Tool] = {tool.spec.name: tool for tool in (*COMMANDS, *FILES, *QUESTIONS, Docs(), Todo())}
SPECS = tuple(tool.spec for tool in TOOLS.values())


def answer(call: ToolCall, context: Context) -> Answer:
    """What comes of a call; a call that is wrong in itself is answered with what would be right.

    Whatever the tool was, a protected file that differs afterwards is put back, and the answer says so: a
    background job may have changed it. Raises InfraError when the failure is ours.
    """
    try:
        outcome = _tool(call).call(call.arguments, context)
    except Refused as refusal:
        outcome = Answer(text=f"error: {refusal}")
    restored = context.workspace.restore_protected()
    text = "\n".join([outcome.text, *(f"note: {name} had been changed; it is restored" for name in restored)])
    # A path that is quoted in an error may hold half of a surrogate pair, which no file and no request can.
    return Answer(text=text.encode(errors="replace").decode(), solution=outcome.solution)


def _tool(call: ToolCall) -> Tool:
    """The tool that is called. Raises Refused if there is none, or the arguments are not its own."""
    if call.tool not in TOOLS:
        raise Refused(f"there is no tool {call.tool!r:.60}; the tools are {', '.join(TOOLS)}")
    if INVALID_ARGUMENTS in call.arguments:
        raise Refused(f"the arguments could not be read: {call.arguments[INVALID_ARGUMENTS]!s:.500}")
    check_arguments(TOOLS[call.tool].spec, call.arguments)
    return TOOLS[call.tool]
