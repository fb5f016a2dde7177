"""About how many tokens a conversation has, for whoever has no tokenizer at hand."""

import json
from collections.abc import Iterable

from warpsmith.core import Message, ToolSpec

BYTES_PER_TOKEN = 3
"""English prose has above four, CUDA and numbers about three, Chinese three a character."""

MOST_BYTES_PER_TOKEN = 6  # that a text as a whole can be expected to have

TOKENS_A_MESSAGE = 8  # what a chat template puts around one, and around a call

REPLY_SHARE = 0.25  # of a window, at most, that is kept free for the reply


def message_tokens(message: Message, *, with_thinking: bool = False) -> int:
    """What a model reads for `message`; rather too many."""
    frames = TOKENS_A_MESSAGE * (1 + len(message.tool_calls))
    return -(-_num_bytes(message, with_thinking=with_thinking) // BYTES_PER_TOKEN) + frames


def least_tokens(messages: Iterable[Message]) -> int:
    """As few as these messages can be expected to have."""
    return sum(_num_bytes(message, with_thinking=False) for message in messages) // MOST_BYTES_PER_TOKEN


def tools_tokens(tools: Iterable[ToolSpec]) -> int:
    """What a model reads for the descriptions of its tools; rather too many."""
    num_bytes = sum(
        len((tool.name + tool.description + json_text(tool.parameters)).encode()) for tool in tools
    )
    return -(-num_bytes // BYTES_PER_TOKEN)


def room_tokens(context_tokens: int, tools: Iterable[ToolSpec], reply_tokens: int) -> int:
    """What a window leaves for messages, beside the tools' descriptions and a reply of `reply_tokens`."""
    reserved = min(reply_tokens, int(context_tokens * REPLY_SHARE))
    return max(0, context_tokens - reserved - tools_tokens(tools))


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _num_bytes(message: Message, *, with_thinking: bool) -> int:
    parts = [message.text, message.call_id or "", message.thinking if with_thinking else ""]
    for call in message.tool_calls:
        parts += [call.call_id, call.tool, json_text(call.arguments)]
    return sum(len(part.encode(errors="replace")) for part in parts)
