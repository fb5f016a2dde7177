"""What a policy said, as the record can say it again: a run goes on from it as it would after a kill."""

from dataclasses import replace
from typing import Any

from warpsmith.core import Message, ToolCall
from warpsmith.core.codec import from_data, to_data, to_json
from warpsmith.policy import INVALID_ARGUMENTS


def heard(message: Message) -> Message:
    """`message` without what no file, no command and no request can hold; a call that is too deep says so."""
    calls = tuple(_flat(call) for call in message.tool_calls)
    data = to_data(replace(message, tool_calls=calls))
    return from_data(Message, _encodable(data))


def _flat(call: ToolCall) -> ToolCall:
    try:
        to_json(call)
        _encodable(to_data(call))
    except RecursionError:
        return replace(call, arguments={INVALID_ARGUMENTS: "they are nested too deeply"})
    return call


def _encodable(data: Any) -> Any:
    """Half a surrogate pair is no character, and a number that is not finite none of JSON's."""
    match data:
        case str():
            return data.encode(errors="replace").decode()
        case float() if data - data != 0.0:
            return str(data)
        case dict():
            return {_encodable(key): _encodable(item) for key, item in data.items()}
        case list():
            return [_encodable(item) for item in data]
        case _:
            return data
