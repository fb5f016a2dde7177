"""What an endpoint can do, found out by asking it: one list of models, and two or three tiny replies."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from warpsmith.core import EnvironmentMissing, InfraError, ToolSpec, UsageError
from warpsmith.policy.actions import Style, parse, read_arguments
from warpsmith.policy.base import PolicyConfig
from warpsmith.policy.endpoint.answer import Answer, count_of
from warpsmith.policy.endpoint.asking import Asking, Clock
from warpsmith.policy.endpoint.chat import read_answer, wire_tool
from warpsmith.policy.prices import is_local

if TYPE_CHECKING:
    import openai

T = TypeVar("T")

REPLY_TOKENS = 512  # a reasoning model thinks before it calls even this tool
PING = ToolSpec(
    name="ping",
    description="Answer a ping.",
    parameters={
        "type": "object",
        "properties": {"word": {"type": "string", "description": "the word to send back"}},
        "required": ["word"],
        "additionalProperties": False,
    },
)
COLOUR = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
CONTEXT_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Whether an endpoint can do a thing, None if that stays unknown, and how it was found."""

    has: bool | None
    how: str


UNASKED = Found(has=None, how="not asked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What was found out about one model at one endpoint, and the tokens that it took."""

    url: str
    model: str
    reachable: Found
    models: tuple[str, ...] = ()
    model_there: Found = UNASKED
    tools: Found = UNASKED
    json_schema: Found = UNASKED
    logprobs: Found = UNASKED
    usage: Found = UNASKED
    context_tokens: int | None = None
    context_how: str = "not told"
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def style(self) -> Style:
        """Tool calls where they work; else JSON where it is enforced; else whole files: all write those."""
        if self.tools.has is not False:
            return Style.TOOLS
        return Style.JSON if self.json_schema.has else Style.FILES


def probe(config: PolicyConfig, model: str) -> Probe:
    """Ask the endpoint of `config`. A missing ability is a finding.

    Raises EnvironmentMissing if this machine lacks the client or the key, UsageError for a wrong URL.
    """
    from warpsmith.policy.endpoint.connection import connect

    brief = replace(config, max_attempts=min(2, config.max_attempts))
    client, asking = connect(model, brief, Clock())
    return probe_with(client, asking, brief, model)


def probe_with(client: "openai.OpenAI", asking: Asking, config: PolicyConfig, model: str) -> Probe:
    """The same, with a client that there is already."""
    listed = _tried(lambda: asking.ask(lambda: _models(client)))
    found = _from_models(Probe(url=asking.url, model=model, reachable=UNASKED), listed)
    if found.reachable.has is False:
        return found
    asker = _Asker(client, asking, config, model)
    found = _with_tools(found, asker)
    if found.model_there.has is not False:
        found = _with_schema(found, asker)
    if found.context_tokens is None and is_local(asking.url):
        found = _with_server_context(found, client, asking)
    return replace(found, prompt_tokens=asker.prompt_tokens, completion_tokens=asker.completion_tokens)


def report(probe: Probe) -> str:
    """Plain lines for a terminal."""
    context = "unknown" if probe.context_tokens is None else f"{probe.context_tokens:,} tokens"
    lines = [f"endpoint      {probe.url}", _line("reachable", probe.reachable)]
    if probe.reachable.has is False:
        return "\n".join(lines)
    lines += [
        _line(f"model {probe.model}", probe.model_there),
        _line("tool calls", probe.tools),
        _line("JSON schema", probe.json_schema),
        _line("log-probs", probe.logprobs),
        _line("usage", probe.usage),
        f"context       {context} ({probe.context_how})",
        f"style         {probe.style}",
    ]
    if probe.model_there.has is False and probe.models:
        lines.append(f"models        {', '.join(probe.models[:20])}{' …' if len(probe.models) > 20 else ''}")
    return "\n".join(lines)


def _line(name: str, found: Found) -> str:
    word = {True: "yes", False: "no", None: "unknown"}[found.has]
    return f"{name:<13} {word} ({found.how})"


class _Asker:
    """Sends one tiny request and adds up what it cost."""

    def __init__(self, client: "openai.OpenAI", asking: Asking, config: PolicyConfig, model: str) -> None:
        self._client = client
        self._asking = asking
        self._model = model
        self._limit = "max_tokens" if config.base_url else "max_completion_tokens"
        self.prompt_tokens = 0
        self.completion_tokens = 0

    def ask(self, text: str, **extra: Any) -> Answer | Exception:
        request = {
            "model": self._model,
            "messages": [{"role": "user", "content": text}],
            self._limit: REPLY_TOKENS,
            **extra,
        }
        answer = _tried(lambda: self._asking.ask(lambda: self._once(request)))
        if isinstance(answer, Answer):
            self.prompt_tokens += answer.prompt_tokens or 0
            self.completion_tokens += answer.completion_tokens or 0
        return answer

    def _once(self, request: dict[str, Any]) -> Answer:
        raw = self._client.chat.completions.with_raw_response.create(**request)
        return read_answer(raw.http_response.content, self._asking.url)


def _tried(call: Callable[[], T]) -> T | Exception:
    try:
        return call()
    except (InfraError, UsageError) as error:
        return error


def _status(error: Exception) -> int | None:
    return getattr(error.__cause__, "status_code", None)


def _why(found: Probe, error: Exception) -> str:
    """The error without the address, which the report names once."""
    return str(error).removeprefix(f"{found.url}: ")


def _models(client: "openai.OpenAI") -> list[dict[str, Any]]:
    raw = client.models.with_raw_response.list()
    data = json.loads(raw.http_response.content)
    items = data.get("data", data.get("models")) if isinstance(data, dict) else data
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _from_models(found: Probe, listed: list[dict[str, Any]] | Exception) -> Probe:
    if isinstance(listed, Exception):
        status = _status(listed)
        is_nonsense = isinstance(listed.__cause__, ValueError)  # it answers, but with no list
        if (status is None and not is_nonsense) or status in (401, 403):
            return replace(found, reachable=Found(has=False, how=str(listed)))
        return replace(found, reachable=Found(has=True, how="it answers, but with no list of models"))
    names = tuple(str(item.get("id") or item.get("name")) for item in listed)
    found = replace(found, models=names, reachable=Found(has=True, how=f"it lists {len(names)} models"))
    entry = next((item for item, name in zip(listed, names, strict=True) if name == found.model), None)
    if entry is None:  # some vendors take names that they do not list: the first reply decides
        return found
    found = replace(found, model_there=Found(has=True, how="in the list of models"))
    for field in CONTEXT_FIELDS:
        if count := count_of(entry.get(field)):
            return replace(found, context_tokens=count, context_how=f"{field} in the list of models")
    return found


def _with_tools(found: Probe, asker: _Asker) -> Probe:
    """A call is asked for, not forced: that a server could do without a parser for the model."""
    answer = asker.ask("Call the tool ping with the word pong.", tools=[wire_tool(PING)], tool_choice="auto")
    if isinstance(answer, Exception):
        return _with_refused_tools(found, answer, asker)
    found = _with_reply(found, answer)
    if answer.calls:
        return replace(found, tools=Found(has=True, how="it called one when asked to"))
    if parse(Style.TOOLS, answer.text, (PING,)).tool_calls:
        return replace(found, tools=Found(has=True, how="it wrote one into its text, which is read too"))
    if answer.is_cut or answer.is_empty:
        return replace(found, tools=Found(has=None, how="accepted; no call within a short reply"))
    return replace(found, tools=Found(has=False, how="accepted, but it called none when asked to"))


def _with_refused_tools(found: Probe, error: Exception, asker: _Asker) -> Probe:
    if isinstance(error, UsageError) and found.model_there.has is None:
        return replace(found, model_there=Found(has=False, how=str(error)), tools=UNASKED)
    if isinstance(error, EnvironmentMissing) or _status(error) in (None, 429):
        return replace(found, tools=Found(has=None, how=_why(found, error)))
    plain = asker.ask("Say yes.")
    if isinstance(plain, Exception):
        return replace(found, tools=Found(has=None, how=_why(found, plain)))
    return replace(_with_reply(found, plain), tools=Found(has=False, how=f"refused: {_why(found, error)}"))


def _with_reply(found: Probe, answer: Answer) -> Probe:
    has_usage = answer.prompt_tokens is not None and answer.completion_tokens is not None
    usage = Found(has=has_usage, how="in its reply" if has_usage else "not in its reply: tokens are guessed")
    there = found.model_there if found.model_there.has else Found(has=True, how="it replied")
    return replace(found, usage=usage, model_there=there)


def _with_schema(found: Probe, asker: _Asker) -> Probe:
    wanted = {"type": "json_schema", "json_schema": {"name": "colour", "schema": COLOUR}}
    text = "Name a colour."  # JSON is not mentioned: only an enforced schema brings it
    answer = asker.ask(text, response_format=wanted, logprobs=True)
    if isinstance(answer, Exception) and _status(answer) in (400, 404, 422, 500, 501):
        answer = asker.ask(text, response_format=wanted)
        if isinstance(answer, Answer):
            found = replace(found, logprobs=Found(has=False, how="refused"))
    if isinstance(answer, Exception):
        refused = Found(has=None if _status(answer) is None else False, how=_why(found, answer))
        return replace(found, json_schema=refused)
    if found.logprobs.has is None:
        how = "in its reply" if answer.has_logprobs else "accepted, but its reply has none"
        found = replace(found, logprobs=Found(has=answer.has_logprobs, how=how))
    found = _with_reply(found, answer)
    said = read_arguments(parse(Style.TOOLS, answer.text, ()).text)
    if said.get("colour") in COLOUR["properties"]["colour"]["enum"]:  # type: ignore[index]
        return replace(found, json_schema=Found(has=True, how="its reply kept to one"))
    if answer.is_cut or answer.is_empty:
        return replace(found, json_schema=Found(has=None, how="accepted; no reply within a short one"))
    return replace(found, json_schema=Found(has=False, how="accepted, but its reply did not keep to it"))


def _with_server_context(found: Probe, client: "openai.OpenAI", asking: Asking) -> Probe:
    """llama.cpp and Ollama tell the window that they run with beside the API, not in it."""
    root = str(client.base_url).rstrip("/").removesuffix("/v1")
    for path, read in (("/props", _llama_context), ("/api/ps", _ollama_context)):
        data = _tried(lambda url=root + path: asking.ask(lambda: client.get(url, cast_to=object)))  # type: ignore[misc]
        count = None if isinstance(data, Exception) else count_of(read(data, found.model))
        if count:
            return replace(found, context_tokens=count, context_how=f"told by {path}")
    return found


def _llama_context(data: Any, _model: str) -> Any:
    settings = data.get("default_generation_settings") if isinstance(data, dict) else None
    return settings.get("n_ctx") if isinstance(settings, dict) else None


def _ollama_context(data: Any, model: str) -> Any:
    items = data.get("models") if isinstance(data, dict) else None
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and str(item.get("name", "")).removesuffix(":latest") in (
            model,
            model.removesuffix(":latest"),
        ):
            return item.get("context_length")
    return None
