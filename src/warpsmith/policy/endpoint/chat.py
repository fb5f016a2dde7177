"""Chat completions on the wire: a conversation as the endpoint wants it, and its answer read leniently."""

import json
from collections.abc import Sequence
from typing import Any

from warpsmith.core import Message, Role, ToolCall, ToolSpec
from warpsmith.policy.actions import printable, read_arguments
from warpsmith.policy.actions.pairing import paired
from warpsmith.policy.endpoint.answer import Answer, count_of, text_of
from warpsmith.policy.endpoint.asking import NoReply

CHARACTERS_PER_TOKEN = 4  # for endpoints that report no usage: a budget must bind all the same
THINKING_FIELDS = ("reasoning_content", "reasoning", "thinking")


def wire_messages(messages: Sequence[Message], thinking_field: str | None) -> list[dict[str, Any]]:
    """`thinking_field`: where to say the model's own reasoning to it again; None = don't."""
    return [_wire_message(message, thinking_field) for message in paired(messages)]


def wire_tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _wire_message(message: Message, thinking_field: str | None) -> dict[str, Any]:
    if message.role is Role.TOOL:
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    wire: dict[str, Any] = {"role": message.role.value, "content": message.text}
    if thinking_field and message.thinking:
        wire[thinking_field] = message.thinking
    if message.tool_calls:
        wire["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.tool, "arguments": json.dumps(call.arguments)},
            }
            for call in message.tool_calls
        ]
    return wire


def read_answer(body: bytes, url: str) -> Answer:
    """Raises NoReply if `body` is no chat completion."""
    data = _json(body, url)
    choices = data.get("choices") if isinstance(data, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    wire = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(wire, dict):
        raise NoReply(_no_completion(data, url))
    thinking, thinking_field = _thinking(wire)
    usage = data.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Answer(
        text=text_of(wire.get("content")) or text_of(wire.get("refusal")),
        calls=_calls(wire),
        thinking=thinking,
        thinking_field=thinking_field,
        is_cut=choice.get("finish_reason") in ("length", "max_tokens"),
        prompt_tokens=count_of(usage.get("prompt_tokens")),
        completion_tokens=count_of(usage.get("completion_tokens")),
        has_logprobs=_has_logprobs(choice),
    )


def _has_logprobs(choice: dict[str, Any]) -> bool:
    logprobs = choice.get("logprobs")
    return isinstance(logprobs, dict) and bool(logprobs.get("content"))


def _json(body: bytes, url: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NoReply(f"{url} sent invalid JSON: {' '.join(str(error).split()):.200}") from error


def _no_completion(data: Any, url: str) -> str:
    if isinstance(data, dict) and data.get("error"):  # some vendors say it with status 200
        error = data["error"]
        said = error.get("message", error) if isinstance(error, dict) else error
        return f"{url} sent an error: {' '.join(str(said).split()):.200}"
    return f"{url} sent no chat completion; is it an OpenAI-compatible endpoint?"


def _thinking(wire: dict[str, Any]) -> tuple[str, str | None]:
    for name in THINKING_FIELDS:
        if isinstance(wire.get(name), str) and wire[name].strip():
            return printable(wire[name]).strip(), name
    return "", None


def _calls(wire: dict[str, Any]) -> tuple[ToolCall, ...]:
    items = wire.get("tool_calls")
    if not isinstance(items, list):
        items = [{"function": wire["function_call"]}] if wire.get("function_call") else []
    calls = []
    for index, item in enumerate(items):
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            continue
        calls.append(
            ToolCall(
                call_id=str(item.get("id") or f"call_{index}"),  # some servers leave it out
                tool=printable(function["name"]),
                arguments=read_arguments(function.get("arguments")),
            )
        )
    return tuple(calls)


def guessed_tokens(value: Any) -> int:
    return len(json.dumps(value)) // CHARACTERS_PER_TOKEN
