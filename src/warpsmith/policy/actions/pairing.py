"""Calls and answers side by side: endpoints refuse a conversation in which one stands alone."""

from collections.abc import Sequence
from dataclasses import replace

from warpsmith.core import Message, Role
from warpsmith.policy.actions.reading import printable


def paired(messages: Sequence[Message]) -> list[Message]:
    """`messages` where each call is answered right after it, and no answer stands without its call.

    A conversation may lose either: when it is compacted, cut short, or taken over from another policy.
    """
    result: list[Message] = []
    open_ids: list[str] = []
    for message in messages:
        message = replace(message, text=printable(message.text))
        if message.role is Role.TOOL and message.call_id in open_ids:
            open_ids.remove(message.call_id)
            result.append(message)
            continue
        result += _unanswered(open_ids)
        open_ids = [call.call_id for call in message.tool_calls]
        if message.role is Role.TOOL:
            message = replace(message, role=Role.USER, text=f"Result of an earlier call:\n{message.text}")
        result.append(message)
    return result + _unanswered(open_ids)


def _unanswered(ids: Sequence[str]) -> list[Message]:
    return [Message(role=Role.TOOL, text="(not answered)", call_id=call_id) for call_id in ids]
