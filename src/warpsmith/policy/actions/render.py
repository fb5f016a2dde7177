"""A conversation as plain messages of three roles, for models that know no tool messages."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from warpsmith.core import Message, Role, ToolCall, ToolSpec
from warpsmith.policy.actions.files import JUDGE, WRITE
from warpsmith.policy.actions.reading import printable
from warpsmith.policy.actions.style import Style, instructions
from warpsmith.policy.base import INVALID_ARGUMENTS

LANGUAGES = {".cu": "cuda", ".cuh": "cuda", ".py": "python", ".cpp": "cpp", ".h": "cpp"}


def guided(style: Style, messages: Sequence[Message], tools: tuple[ToolSpec, ...]) -> tuple[Message, ...]:
    """`messages` with the style's instructions at the end of the first system message, or as one."""
    text = instructions(style, tools)
    if messages and messages[0].role is Role.SYSTEM:
        first = replace(messages[0], text=f"{messages[0].text}\n\n{text}")
        return first, *messages[1:]
    return Message(role=Role.SYSTEM, text=text), *messages


def render(
    style: Style, messages: Sequence[Message], *, feeds_thinking: bool = False
) -> list[dict[str, Any]]:
    """{"role", "content"} for each; tools answer as the user. Templates want no two of a role in a row."""
    tools_by_id: dict[str, ToolCall] = {}
    rendered: list[dict[str, Any]] = []
    for message in messages:
        tools_by_id |= {call.call_id: call for call in message.tool_calls}
        role = "user" if message.role is Role.TOOL else message.role.value
        content = printable(_content(style, message, tools_by_id))
        if feeds_thinking and message.thinking:
            content = f"<think>\n{message.thinking}\n</think>\n\n{content}"
        if rendered and rendered[-1]["role"] == role:
            rendered[-1]["content"] += f"\n\n{content}"
        else:
            rendered.append({"role": role, "content": content})
    return rendered


def _content(style: Style, message: Message, tools_by_id: dict[str, ToolCall]) -> str:
    if message.role is Role.TOOL:
        return _answer(style, message, tools_by_id.get(message.call_id or ""))
    if message.role is not Role.ASSISTANT:
        return message.text
    if any(INVALID_ARGUMENTS in call.arguments for call in message.tool_calls):
        return message.text or "(a call that could not be read)"
    match style:
        case Style.TOOLS:
            return _tagged(message)
        case Style.JSON:
            return _json(message)
        case Style.FILES:
            return _files(message)


def _answer(style: Style, message: Message, call: ToolCall | None) -> str:
    if style is Style.TOOLS:
        return f"<tool_response>\n{message.text}\n</tool_response>"
    name = "a call" if call is None else call.tool
    path = "" if call is None else str(call.arguments.get("path", ""))
    return f"Result of {name}{' ' + path if path else ''}:\n{message.text}"


def _tagged(message: Message) -> str:
    calls = [
        "<tool_call>\n" + _dumped({"name": call.tool, "arguments": call.arguments}) + "\n</tool_call>"
        for call in message.tool_calls
    ]
    return "\n".join([*([message.text] if message.text else []), *calls])


def _json(message: Message) -> str:
    calls = [{"tool": call.tool, "arguments": call.arguments} for call in message.tool_calls]
    return _dumped({"say": message.text, "calls": calls})


def _files(message: Message) -> str:
    parts = [message.text] if message.text else []
    for call in message.tool_calls:
        values = [str(value) for value in call.arguments.values()]
        if call.tool == WRITE and len(values) == 2:
            parts.append(_block(*values))
        elif call.tool != JUDGE:  # another policy began this conversation
            parts.append(f"(called {call.tool} {_dumped(call.arguments)})")
    return "\n\n".join(parts) or "(nothing)"


def _block(path: str, text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    language = LANGUAGES.get(PurePosixPath(path).suffix, "")
    return f"{path}\n{fence}{language}\n{text.removesuffix(chr(10))}\n{fence}"


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
