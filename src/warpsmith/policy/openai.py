"""A model behind any OpenAI-compatible endpoint: a vendor's, vLLM, SGLang, Ollama, llama.cpp."""

import json
from typing import TYPE_CHECKING, Any

from warpsmith.core import Cost, InfraError, Message, ToolSpec
from warpsmith.policy.actions import Style, guided, render, schema, with_unique_ids
from warpsmith.policy.base import PolicyConfig, Reply
from warpsmith.policy.endpoint.answer import Answer, message_of, until_said
from warpsmith.policy.endpoint.asking import Clock
from warpsmith.policy.endpoint.chat import guessed_tokens, read_answer, wire_messages, wire_tool
from warpsmith.policy.endpoint.connection import connect
from warpsmith.policy.prices import price_for

if TYPE_CHECKING:
    import openai

    from warpsmith.policy.endpoint.probe import Probe

CONTEXT_TOKENS = 131_072  # of a model that does not tell
CODE_CHARACTERS_PER_TOKEN = 3  # fewer than in prose
LEAST_TOKENS = 256  # of a reply; less holds nothing
TOO_LONG = ("context length", "max_tokens", "max_completion_tokens", "too long", "exceed")


class OpenAIPolicy:
    """Chat completions, with the endpoint's own tool calls or in one of the styles of plain text.

    Raises EnvironmentMissing at construction if the `openai` extra or, for the default endpoint, the key is
    missing, UsageError for a wrong URL or style. The key is read here, sent to the endpoint, and neither kept
    in the conversation nor logged. `probe` is what is known of the endpoint; without it the first request
    finds out, if `config.style` is auto.
    """

    def __init__(
        self, model: str, config: PolicyConfig, *, probe: "Probe | None" = None, clock: Clock | None = None
    ) -> None:
        self.name = f"openai:{model}"
        self.context_tokens: int | None = config.context_tokens or CONTEXT_TOKENS
        self._model = model
        self._config = config
        self._clock = clock or Clock()
        self._style = Style.of(config.style)
        self._can_schema = True  # until it is refused
        self._limit_name = "max_tokens" if config.base_url else "max_completion_tokens"
        self._max_tokens = config.sampling.max_tokens
        self._known_context = config.context_tokens  # None: nobody has told it
        self._thinking_field: str | None = None
        self._client, self._asking = connect(model, config, self._clock)
        self._create: Any = self._client.chat.completions.with_raw_response.create  # imports: not in `ask`
        if probe is not None:
            self._learn(probe)
        elif config.base_url is None and self._style is None:
            self._style = Style.TOOLS  # the vendor's chat models have them

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:
        """The model's next message. Raises InfraError, UsageError for a model that is not there."""
        began_s = self._clock.now_s()
        prompt, written = self._probed()
        asked: list[Any] = []

        def ask() -> Answer:
            request = self._request(messages, tools)
            asked.append(request["messages"])
            return self._answered(request, messages, tools)

        answers = until_said(ask)
        for sent, answer in zip(asked, answers, strict=True):
            prompt += _counted(answer.prompt_tokens, sent)
            written += _counted(answer.completion_tokens, answer.text + answer.thinking + str(answer.calls))
        self._thinking_field = answers[-1].thinking_field or self._thinking_field
        message, is_cut = message_of(answers[-1], self._style or Style.TOOLS, tools)
        price = price_for(self._config, self._model)
        cost = Cost(
            prompt_tokens=prompt,
            completion_tokens=written,
            usd=0.0 if price is None else price.usd(prompt, written),
            wall_s=self._clock.since_s(began_s),
        )
        return Reply(message=with_unique_ids(message, messages), cost=cost, is_cut=is_cut)

    def _probed(self) -> tuple[int, int]:
        """Find the style if it is not known; the tokens that it took."""
        if self._style is not None:
            return 0, 0
        from warpsmith.policy.endpoint.probe import probe_with

        found = probe_with(self._client, self._asking, self._config, self._model)
        if not found.reachable.has:
            self._style = Style.TOOLS  # the request itself will say what is wrong
            return 0, 0
        self._learn(found)
        return found.prompt_tokens, found.completion_tokens

    def _learn(self, probe: "Probe") -> None:
        self._style = self._style or probe.style
        self._can_schema = probe.json_schema.has is not False
        self._known_context = self._config.context_tokens or probe.context_tokens
        self.context_tokens = self._known_context or CONTEXT_TOKENS

    def _request(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> dict[str, Any]:
        style, sampling = self._style or Style.TOOLS, self._config.sampling
        wire = self._wire(style, messages, tools)
        request: dict[str, Any] = {
            "model": self._model,
            "messages": wire,
            # OpenAI's own newer models refuse `max_tokens`; compatible servers often know nothing else.
            self._limit_name: self._room_tokens(wire),
        }
        if tools and style is Style.TOOLS:
            request["tools"] = [wire_tool(tool) for tool in tools]
        if tools and style is Style.JSON and self._can_schema:
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": schema(tools)},
            }
        chosen = {"temperature": sampling.temperature, "top_p": sampling.top_p, "seed": sampling.seed}
        return request | {name: value for name, value in chosen.items() if value is not None}

    def _room_tokens(self, wire: list[dict[str, Any]]) -> int:
        """A server with a small window refuses a prompt and a limit that do not both fit in it."""
        if self._known_context is None:
            return self._max_tokens
        room = self._known_context - len(json.dumps(wire)) // CODE_CHARACTERS_PER_TOKEN
        return min(self._max_tokens, max(room, LEAST_TOKENS))

    def _wire(
        self, style: Style, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]
    ) -> list[dict[str, Any]]:
        feeds = self._config.feeds_thinking
        if style is Style.TOOLS:
            return wire_messages(messages, (self._thinking_field or "reasoning_content") if feeds else None)
        told = guided(style, messages, tools) if tools else messages
        return render(style, told, feeds_thinking=feeds)

    def _answered(
        self, request: dict[str, Any], messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]
    ) -> Answer:
        """The answer to `request`, or to what is left of it once the endpoint has refused a part."""
        import openai

        try:
            return self._asking.ask(lambda: self._once(request))
        except InfraError as error:
            refusal = error.__cause__
            if not isinstance(refusal, openai.APIStatusError) or not self._gives_way(refusal, request):
                raise
            return self._answered(self._request(messages, tools), messages, tools)

    def _gives_way(self, refusal: "openai.APIStatusError", request: dict[str, Any]) -> bool:
        """Whether the request can do without what the endpoint refuses, or with a lower limit."""
        said = str(refusal).lower()
        if refusal.status_code not in (400, 422, 500, 501):
            return False
        if self._limit_name == "max_tokens" and "max_completion_tokens" in said:
            self._limit_name = "max_completion_tokens"
            return True
        if "tools" in request and "tool" in said and Style.of(self._config.style) is None:
            self._style = Style.JSON
            return True
        if "response_format" in request and any(
            word in said for word in ("response_format", "schema", "grammar", "guided")
        ):
            self._can_schema = False
            return True
        if self._max_tokens >= 2 * LEAST_TOKENS and any(word in said for word in TOO_LONG):
            self._max_tokens = min(self._max_tokens, request[self._limit_name]) // 2
            return True
        return False

    def _once(self, request: dict[str, Any]) -> Answer:
        raw = self._create(**request)
        return read_answer(raw.http_response.content, self._asking.url)


def _counted(tokens: int | None, value: Any) -> int:
    """The endpoint's own count, or a guess by length."""
    return guessed_tokens(value) if tokens is None else tokens
