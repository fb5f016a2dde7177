"""A model behind Anthropic's Messages API, or a server that speaks it."""

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from warpsmith.core import Cost, Message, Role, ToolCall, ToolSpec, UsageError
from warpsmith.policy.actions import Style, guided, printable, read_arguments, render, with_unique_ids
from warpsmith.policy.actions.pairing import paired
from warpsmith.policy.base import PolicyConfig, Reply
from warpsmith.policy.endpoint.answer import Answer, count_of, message_of, text_of, until_said
from warpsmith.policy.endpoint.asking import Asking, Clock, NoReply
from warpsmith.policy.endpoint.chat import guessed_tokens
from warpsmith.policy.endpoint.client import bounded_client, key_of, require, url_of
from warpsmith.policy.prices import price_for

if TYPE_CHECKING:
    import anthropic

VENDOR_URL = "https://api.anthropic.com"
KEY = "ANTHROPIC_API_KEY"
CONTEXT_TOKENS = 131_072
CACHED = {"cache_control": {"type": "ephemeral"}}  # a conversation is read again at each turn
CACHE_WRITE, CACHE_READ = 1.25, 0.1  # of the price of a prompt token, as the vendor's pricing page says
NO_NAME = re.compile(r"[^A-Za-z0-9_-]")


class AnthropicPolicy:
    """Messages with tools. Fails, retries and is bounded as the openai policy is.

    Raises EnvironmentMissing at construction if the `anthropic` extra or the key is missing.
    """

    def __init__(self, model: str, config: PolicyConfig, *, clock: Clock | None = None) -> None:
        if config.sampling.seed is not None:
            raise UsageError("the anthropic policy takes no seed; leave it out")
        self.name = f"anthropic:{model}"
        self.context_tokens: int | None = config.context_tokens or CONTEXT_TOKENS
        self._model = model
        self._config = config
        self._clock = clock or Clock()
        self._style = Style.of(config.style) or Style.TOOLS
        client, self._asking = _connect(model, config, self._clock)
        self._create: Any = client.messages.with_raw_response.create  # imports; not within a request's time

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:
        """The model's next message. Raises InfraError, UsageError for a model that is not there."""
        began_s = self._clock.now_s()
        request = self._request(messages, tools)
        answers = until_said(lambda: self._asking.ask(lambda: self._once(request)))
        message, is_cut = message_of(answers[-1], self._style, tools)
        prompt = sum(_prompt_tokens(answer, request) for answer in answers)
        written = sum(_written_tokens(answer) for answer in answers)
        billed = sum(answer.billed_tokens or _prompt_tokens(answer, request) for answer in answers)
        price = price_for(self._config, self._model)
        cost = Cost(
            prompt_tokens=prompt,
            completion_tokens=written,
            usd=0.0 if price is None else price.usd(billed, written),
            wall_s=self._clock.since_s(began_s),
        )
        return Reply(message=with_unique_ids(message, messages), cost=cost, is_cut=is_cut)

    def _request(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> dict[str, Any]:
        sampling = self._config.sampling
        told: Sequence[Message] = messages
        if tools and self._style is not Style.TOOLS:
            told = guided(self._style, messages, tools)
        system = "\n\n".join(printable(one.text) for one in told if one.role is Role.SYSTEM)
        request: dict[str, Any] = {
            "model": self._model,
            "max_tokens": sampling.max_tokens,
            "messages": _cached(self._wire([m for m in told if m.role is not Role.SYSTEM])),
        }
        if system:
            request["system"] = [{"type": "text", "text": system, **CACHED}]
        if tools and self._style is Style.TOOLS:
            request["tools"] = [
                {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
                for tool in tools
            ]
        # The client names these no more, since the vendor's newest models refuse them; others do not.
        chosen = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        request["extra_body"] = {name: value for name, value in chosen.items() if value is not None}
        return request

    def _wire(self, messages: list[Message]) -> list[dict[str, Any]]:
        feeds = self._config.feeds_thinking
        if self._style is Style.TOOLS:
            return _wire_messages(messages, feeds_thinking=feeds)
        plain = render(self._style, messages, feeds_thinking=feeds)
        return [{"role": one["role"], "content": [_text(one["content"])]} for one in plain]

    def _once(self, request: dict[str, Any]) -> Answer:
        raw = self._create(**request, timeout=self._config.timeout_s)
        return read_answer(raw.http_response.content, self._asking.url)


def _connect(model: str, config: PolicyConfig, clock: Clock) -> tuple["anthropic.Anthropic", Asking]:
    for package in ("anthropic", "tenacity"):
        require(package, "anthropic")
    import anthropic

    variable = config.api_key_env or KEY
    key = key_of(variable, config)
    url = url_of(config, VENDOR_URL).rstrip("/").removesuffix("/v1")  # the client adds it
    client = anthropic.Anthropic(
        api_key=key or "none",
        base_url=url,
        max_retries=0,
        timeout=config.timeout_s,
        http_client=bounded_client(anthropic, config.timeout_s),
    )
    asking = Asking("anthropic", f"{url}/v1/", model, variable, config, clock)
    return client, asking.keeping_secret(key)


def read_answer(body: bytes, url: str) -> Answer:
    """Raises NoReply if `body` is no message."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NoReply(f"{url} sent invalid JSON: {' '.join(str(error).split()):.200}") from error
    content = data.get("content") if isinstance(data, dict) else None
    if not isinstance(content, list):
        raise NoReply(f"{url} sent no message; does it speak the Messages API?")
    blocks = [block for block in content if isinstance(block, dict)]
    usage = data.get("usage")
    return Answer(
        text=text_of([block for block in blocks if block.get("type") == "text"]),
        calls=_calls([block for block in blocks if block.get("type") == "tool_use"]),
        thinking=text_of([{"text": block.get("thinking")} for block in blocks]).strip(),
        is_cut=data.get("stop_reason") in ("max_tokens", "model_context_window_exceeded"),
        **_usage(usage if isinstance(usage, dict) else {}),
    )


def _calls(blocks: list[dict[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            call_id=str(block.get("id") or f"call_{index}"),
            tool=printable(block["name"]),
            arguments=read_arguments(block.get("input")),
        )
        for index, block in enumerate(blocks)
        if isinstance(block.get("name"), str)
    )


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    """The vendor counts what came from its cache, and what went into it, apart from the rest."""
    fresh = count_of(usage.get("input_tokens"))
    if fresh is None:
        return {"completion_tokens": count_of(usage.get("output_tokens"))}
    written = count_of(usage.get("cache_creation_input_tokens")) or 0
    read = count_of(usage.get("cache_read_input_tokens")) or 0
    return {
        "prompt_tokens": fresh + written + read,
        "billed_tokens": fresh + CACHE_WRITE * written + CACHE_READ * read,
        "completion_tokens": count_of(usage.get("output_tokens")),
    }


def _prompt_tokens(answer: Answer, request: dict[str, Any]) -> int:
    return guessed_tokens(request["messages"]) if answer.prompt_tokens is None else answer.prompt_tokens


def _written_tokens(answer: Answer) -> int:
    if answer.completion_tokens is not None:
        return answer.completion_tokens
    return guessed_tokens(answer.text + answer.thinking + str(answer.calls))


def _wire_messages(messages: Sequence[Message], *, feeds_thinking: bool) -> list[dict[str, Any]]:
    """Blocks; two messages of one role are joined, since results must stand in one message."""
    wire: list[dict[str, Any]] = []
    for message in paired(messages):
        role = "assistant" if message.role is Role.ASSISTANT else "user"
        blocks = _blocks(message, feeds_thinking=feeds_thinking)
        if wire and wire[-1]["role"] == role:
            wire[-1]["content"] += blocks
        else:
            wire.append({"role": role, "content": blocks})
    return wire


def _blocks(message: Message, *, feeds_thinking: bool) -> list[dict[str, Any]]:
    if message.role is Role.TOOL:
        text = message.text or "(nothing)"
        return [{"type": "tool_result", "tool_use_id": _name(message.call_id or ""), "content": text}]
    text = message.text
    if feeds_thinking and message.thinking:
        text = f"<think>\n{message.thinking}\n</think>\n\n{text}"
    calls = [
        {
            "type": "tool_use",
            "id": _name(call.call_id),
            "name": _name(call.tool)[:128],
            "input": call.arguments,
        }
        for call in message.tool_calls
    ]
    return [_text(text), *calls] if text.strip() or not calls else calls


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text if text.strip() else "(nothing)"}  # empty ones are refused


def _name(text: str) -> str:
    return NO_NAME.sub("_", text) or "_"


def _cached(wire: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All up to the last block is kept by the vendor for the next turn."""
    if wire:
        wire[-1]["content"][-1] = {**wire[-1]["content"][-1], **CACHED}
    return wire
