"""A reply's text as a message with tool calls."""

from dataclasses import replace

from warpsmith.core import Message, Role, ToolCall, ToolSpec
from warpsmith.policy.actions.calls import Found, calls_in, looks_like_a_call, named_tool
from warpsmith.policy.actions.files import files_in
from warpsmith.policy.actions.reading import MAX_CHARACTERS, printable, split_thinking
from warpsmith.policy.actions.style import Style
from warpsmith.policy.base import INVALID_ARGUMENTS


def parse(style: Style, text: str, tools: tuple[ToolSpec, ...]) -> Message:
    """The assistant's message. Never raises: a call that can't be read carries INVALID_ARGUMENTS.

    Text that calls nothing is plain text, which ends a conversation. A message whose calls can't be read
    keeps the text as it was written: its writer must see what it did.
    """
    thinking, said = split_thinking(printable(text[:MAX_CHARACTERS]))
    found = _found(style, said, tools)
    calls = tuple(replace(call, call_id=f"call_{index}") for index, call in enumerate(found.calls))
    return Message(role=Role.ASSISTANT, text=found.text.strip(), tool_calls=calls, thinking=thinking)


def _found(style: Style, said: str, tools: tuple[ToolSpec, ...]) -> Found:
    if not tools:
        return Found(text=said)
    match style:
        case Style.TOOLS:
            return calls_in(said, tools)
        case Style.FILES:
            return files_in(said, tools)
        case Style.JSON:
            found = calls_in(said, tools)
            if found.calls or found.is_read or not looks_like_a_call(said):
                return found
            reason = f"the reply is not one JSON object with say and calls (cut off?): {said:.200}"
            return Found(
                text=said,
                calls=[
                    ToolCall(call_id="", tool=named_tool(said, tools), arguments={INVALID_ARGUMENTS: reason})
                ],
            )


def with_unique_ids(message: Message, earlier: tuple[Message, ...]) -> Message:
    """`message` with new ids for calls whose id is empty or has been used: endpoints refuse doubles."""
    used = {call.call_id for before in earlier for call in before.tool_calls}
    turn = sum(before.role is Role.ASSISTANT for before in earlier)
    calls = []
    for index, call in enumerate(message.tool_calls):
        name = call.call_id
        if not name or name in used:
            name = f"call_{turn}_{index}"
        while name in used:
            name += "_"
        used.add(name)
        calls.append(replace(call, call_id=name))
    return replace(message, tool_calls=tuple(calls))
