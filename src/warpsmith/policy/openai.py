"""A model behind any OpenAI-compatible endpoint: a vendor's, vLLM, SGLang, Ollama, llama.cpp."""

import ast
import json
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from warpsmith.core import (
    Cost,
    EnvironmentMissing,
    InfraError,
    Message,
    Role,
    ToolCall,
    ToolSpec,
    UsageError,
)
from warpsmith.policy.base import INVALID_ARGUMENTS, PolicyConfig, Reply

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletion, ChatCompletionMessage
    from tenacity import RetryCallState, Retrying

CHARACTERS_PER_TOKEN = 4  # for endpoints that report no usage: a budget must bind all the same
MAX_WAIT_S = 60.0


class OpenAIPolicy:
    """Chat completions with tools. Retries what may pass (429, 5xx, a dropped connection), with jitter.

    Raises EnvironmentMissing at construction if the `openai` extra or, for the default endpoint, the key is
    missing. The key is read here, sent to the endpoint, and neither kept in the conversation nor logged.
    """

    def __init__(
        self, model: str, config: PolicyConfig, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.name = f"openai:{model}"
        self._model = model
        self._config = config
        self._clock = clock
        self._has_answered = False
        self._client = _client(config)

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:
        """The model's next message. Raises InfraError, UsageError for a model that is not there."""
        began_s = self._clock()
        request = self._request(messages, tools)
        completion = self._complete(request)
        self._has_answered = True
        message = _message(completion.choices[0].message)
        prompt, written = _tokens(completion, request, message)
        usd = (
            prompt * self._config.usd_per_million_prompt_tokens
            + written * self._config.usd_per_million_completion_tokens
        ) / 1e6
        wall_s = self._clock() - began_s
        return Reply(
            message=message,
            cost=Cost(prompt_tokens=prompt, completion_tokens=written, usd=usd, wall_s=wall_s),
        )

    def _request(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> dict[str, Any]:
        # OpenAI's own newer models refuse `max_tokens`; compatible servers often know nothing else.
        limit = "max_tokens" if self._config.base_url else "max_completion_tokens"
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [_wire_message(message) for message in messages],
            limit: self._config.max_tokens,
        }
        if tools:
            request["tools"] = [_wire_tool(tool) for tool in tools]
        if self._config.temperature is not None:
            request["temperature"] = self._config.temperature
        return request

    def _complete(self, request: dict[str, Any]) -> "ChatCompletion":
        import openai

        try:
            return self._retrying()(self._ask_once, request)
        except openai.OpenAIError as error:
            raise self._explained(error) from error

    def _ask_once(self, request: dict[str, Any]) -> "ChatCompletion":
        from openai.types.chat import ChatCompletion

        try:
            completion = self._client.chat.completions.create(**request)
        except json.JSONDecodeError as error:
            raise _NoReply(f"{self._client.base_url} sent invalid JSON: {error}") from error
        # The client does not check what it parsed: text, and absent or null choices, come through.
        if not isinstance(completion, ChatCompletion) or not completion.choices:
            raise _NoReply(
                f"{self._client.base_url} sent no chat completion; is it an OpenAI-compatible endpoint?"
            )
        return completion

    def _retrying(self) -> "Retrying":
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        return Retrying(
            retry=retry_if_exception(self._may_pass),
            stop=stop_after_attempt(self._config.max_attempts),
            wait=self._wait_s,
            reraise=True,
        )

    def _wait_s(self, state: "RetryCallState") -> float:
        """What the endpoint asks for, or else exponential with jitter so that parallel runs spread out."""
        from tenacity import wait_random_exponential

        error = state.outcome.exception() if state.outcome else None
        asked_s = _retry_after_s(error)
        if asked_s is not None:
            return min(asked_s, MAX_WAIT_S)
        return wait_random_exponential(multiplier=self._config.retry_wait_s, max=MAX_WAIT_S)(state)

    def _may_pass(self, error: BaseException) -> bool:
        import openai

        if isinstance(error, openai.APIStatusError):
            return error.status_code in (408, 409, 429) or error.status_code >= 500
        if isinstance(error, openai.APIConnectionError) and not isinstance(error, openai.APITimeoutError):
            return self._has_answered  # an endpoint that never answered is not running, or misspelt
        return isinstance(error, openai.APITimeoutError | openai.APIResponseValidationError | _NoReply)

    def _explained(self, error: "openai.OpenAIError") -> InfraError | UsageError:
        """One line that says what to do about it."""
        import openai

        url = str(self._client.base_url)
        match error:
            case openai.APITimeoutError():
                return InfraError(f"{url}: no reply within {self._config.timeout_s:g} s")
            case openai.APIStatusError(status_code=401 | 403):
                return EnvironmentMissing(
                    f"{url} refuses the key; export {self._config.api_key_env} with a valid one"
                )
            case openai.APIStatusError(status_code=404):
                return UsageError(f"{url} has no model {self._model!r} ({_line(error)}); see {url}models")
            case openai.APIStatusError(status_code=status):
                return InfraError(f"{url}: HTTP {status}: {_line(error)}")
            case openai.APIConnectionError():
                return EnvironmentMissing(
                    f"no endpoint at {url}; start the server or pass another --base-url"
                )
            case _:
                return InfraError(f"{url}: {_line(error)}")


class _NoReply(InfraError):
    """The endpoint answered with something else than a completion."""


def _retry_after_s(error: BaseException | None) -> float | None:
    import openai

    if not isinstance(error, openai.APIStatusError):
        return None
    try:
        return float(error.response.headers["retry-after"])
    except (KeyError, ValueError):  # absent, or a date, which few endpoints send
        return None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _client(config: PolicyConfig) -> "openai.OpenAI":
    for package in ("openai", "tenacity"):
        if find_spec(package) is None:
            raise EnvironmentMissing(f"{package} is not installed; pip install 'warpsmith[openai]'")
    import openai

    key = os.environ.get(config.api_key_env)
    if not key and config.base_url is None:
        raise EnvironmentMissing(
            f"{config.api_key_env} is not set; export it, or pass --base-url for a server that needs no key"
        )
    return openai.OpenAI(
        api_key=key or "none",
        base_url=config.base_url or "https://api.openai.com/v1",
        timeout=config.timeout_s,
        max_retries=0,  # ours: they are counted and jittered
    )


def _wire_message(message: Message) -> dict[str, Any]:
    if message.role is Role.TOOL:
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    wire: dict[str, Any] = {"role": message.role.value, "content": message.text}
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


def _wire_tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _message(wire: "ChatCompletionMessage") -> Message:
    calls = tuple(
        ToolCall(
            call_id=call.id or f"call_{index}",  # some servers leave it out
            tool=call.function.name,
            arguments=read_arguments(call.function.arguments),
        )
        for index, call in enumerate(wire.tool_calls or ())
        if call.type == "function"
    )
    return Message(role=Role.ASSISTANT, text=wire.content or "", tool_calls=calls)


def read_arguments(text: str | dict[str, Any] | None) -> dict[str, Any]:
    """A tool call's arguments, read leniently: fences, raw newlines in strings, Python literals are forgiven.

    What cannot be read becomes the one argument INVALID_ARGUMENTS, which the tool then refuses by name:
    the model hears of it and can try again.
    """
    if isinstance(text, dict):  # some servers send the object itself
        return text
    body = _without_fence(text or "{}")
    readers: tuple[Callable[[str], object], ...] = (
        lambda body: json.loads(body, strict=False),
        ast.literal_eval,
    )
    for read in readers:
        try:
            value = read(body)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(value, dict):
            return {str(key): item for key, item in value.items()}
        return {INVALID_ARGUMENTS: f"expected a JSON object, found {body:.200}"}
    return {INVALID_ARGUMENTS: f"not valid JSON (cut off?): {body:.200}"}


def _without_fence(text: str) -> str:
    lines = text.strip().splitlines()
    is_fenced = len(lines) >= 2 and lines[0].startswith("```") and lines[-1] == "```"
    return "\n".join(lines[1:-1]) if is_fenced else text


def _tokens(completion: "ChatCompletion", request: dict[str, Any], message: Message) -> tuple[int, int]:
    """Prompt and completion tokens as the endpoint counts them, or a guess by length if it does not."""
    if completion.usage is not None:
        return completion.usage.prompt_tokens or 0, completion.usage.completion_tokens or 0
    prompt = len(json.dumps(request["messages"])) // CHARACTERS_PER_TOKEN
    written = len(json.dumps(_wire_message(message))) // CHARACTERS_PER_TOKEN
    return prompt, written
