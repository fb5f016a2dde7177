"""Long messages without their middle. What was cut to a length is left as it is by another cut to it."""

from dataclasses import replace
from typing import Any

from warpsmith.agent.window.history import left_out
from warpsmith.agent.window.tokens import json_text
from warpsmith.core import Message, ToolCall

HEAD_SHARE = 2 / 3
NUM_ARGUMENTS = 8  # of a call that may each have the full length


def longest(message: Message) -> int:
    """Characters of its longest part."""
    parts = [len(message.text), len(message.thinking)]
    for call in message.tool_calls:
        parts += [len(call.tool), *(_length(value) for value in call.arguments.values())]
        parts.append(-(-len(json_text(call.arguments)) // NUM_ARGUMENTS))
    return max(parts)


def cut(message: Message, length: int, number: int) -> Message:
    """`message`, of turn `number`, with no part longer than `length`."""
    return replace(
        message,
        text=_shortened(message.text, length, number),
        thinking=_shortened(message.thinking, length, number),
        tool_calls=tuple(_cut_call(call, length, number) for call in message.tool_calls),
    )


def _cut_call(call: ToolCall, length: int, number: int) -> ToolCall:
    arguments = {name: _cut_value(value, length, number) for name, value in call.arguments.items()}
    text = json_text(arguments)
    if len(text) > NUM_ARGUMENTS * length:
        arguments = {"left_out": _shortened(text, length, number)}
    return replace(call, tool=call.tool[:length], arguments=arguments)


def _cut_value(value: Any, length: int, number: int) -> Any:
    if _length(value) <= length:
        return value
    return _shortened(value if isinstance(value, str) else json_text(value), length, number)


def _length(value: Any) -> int:
    return len(value if isinstance(value, str) else json_text(value))


def _shortened(text: str, length: int, number: int) -> str:
    if len(text) <= length:
        return text
    mark = f"\n[... {left_out(number)} ...]\n"
    room = length - len(mark)
    num_head = int(room * HEAD_SHARE)
    return text[:num_head] + mark + text[len(text) - (room - num_head) :]
