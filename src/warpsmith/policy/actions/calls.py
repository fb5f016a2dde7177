"""Tool calls that a model wrote into its text, in the forms that models are trained to write."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from warpsmith.core import ToolCall, ToolSpec
from warpsmith.policy.actions.fences import blocks_in
from warpsmith.policy.actions.reading import STRING, printable, read_arguments, read_json
from warpsmith.policy.base import INVALID_ARGUMENTS

NAME_KEYS = ("name", "tool", "tool_name", "function", "action")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "action_input")
LIST_KEYS = ("calls", "tool_calls", "actions")
SAY_KEYS = ("say", "text", "message", "content", "thought")

TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
FUNCTION = re.compile(r"<function=([\w.-]+)>(.*?)(?:</function>|(?=<function=)|\Z)", re.DOTALL)
MARKED = re.compile(r"(?:\[TOOL_CALLS\]|<\|python_tag\|>)")
OPENING = re.compile(
    r'[{\[]\s*(?:\{\s*)?["\'](?:' + "|".join((*NAME_KEYS, *LIST_KEYS, *SAY_KEYS)) + r")[\"']\s*:"
)
BEGUN = re.compile(
    r'^[ \t]*[{\[]\s*(?:\{\s*)?["\'](?:name|tool)["\']\s*:\s*["\']([\w.-]+)["\'].*', re.MULTILINE
)
BLANKS = re.compile(r"\s*")
TAG_END = "</tool_call>"
NAMED = re.compile(r'["\'](?:name|tool)["\']\s*:\s*["\']([\w.-]+)["\']')
MAX_OPENINGS = 8  # tried in one text; each costs a pass over it
MAX_TAGS = 64  # read in one text; a reply may have fewer calls than that


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a text says and calls; `is_read` if it was the object asked for, whether it calls or not."""

    text: str
    calls: list[ToolCall] = field(default_factory=list)
    is_read: bool = False


def calls_in(text: str, tools: tuple[ToolSpec, ...]) -> Found:
    """The calls in the first form that has any, and the text around them."""
    for pieces in (_tagged(text, tools), _functions(text, tools)):
        if pieces:
            rest = _without(text, [(start, end) for start, end, _ in pieces])
            calls = [call for _, _, call in pieces]
            is_broken = any(INVALID_ARGUMENTS in call.arguments for call in calls)
            return Found(text=text if is_broken else rest, calls=calls)
    for spans in (_fenced(text), _bare(text)):
        found = _from_values(text, list(spans), tools)
        if found.calls or found.is_read:
            return found
    return _begun(text, tools)


def _begun(text: str, tools: tuple[ToolSpec, ...]) -> Found:
    """A line that begins as a call of a known tool and can't be read: words would end the conversation."""
    match = BEGUN.search(text)
    if match is None or not any(tool.name == match[1] for tool in tools):
        return Found(text=text)
    reason = f"not valid JSON (cut off, or quotes without a backslash?): {match[0].strip():.200}"
    return Found(
        text=text, calls=[ToolCall(call_id="", tool=match[1], arguments={INVALID_ARGUMENTS: reason})]
    )


def looks_like_a_call(text: str) -> bool:
    return "{" in text or "```" in text


def named_tool(text: str, tools: tuple[ToolSpec, ...]) -> str:
    """The tool that an unreadable call seems to mean; any tool will do to say what is wrong."""
    known = [tool.name for tool in tools]
    return next((name for name in NAMED.findall(text) if name in known), known[0] if known else "unknown")


def _tagged(text: str, tools: tuple[ToolSpec, ...]) -> list[tuple[int, int, ToolCall]]:
    pieces: list[tuple[int, int, ToolCall]] = []
    position = 0
    for _ in range(MAX_TAGS):
        match = TAGGED.search(text, position)
        if match is None:
            break
        value, end = _whole_value(text, match.start(1))
        calls = _calls_of(value, tools)
        if calls:
            position = end + len(TAG_END) if text.startswith(TAG_END, end) else end
        else:
            calls, position = _tag_calls(match[1], tools), match.end()
        pieces += [(match.start(), position, call) for call in calls]
    return pieces


def _whole_value(text: str, start: int) -> tuple[Any, int]:
    """The strict JSON value after blanks, with the blanks behind it: a string in it may hold the end tag."""
    try:
        begin = BLANKS.match(text, start).end()  # type: ignore[union-attr]
        value, end = json.JSONDecoder(strict=False).raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None, start
    return value, BLANKS.match(text, end).end()  # type: ignore[union-attr]


def _calls_of(value: Any, tools: tuple[ToolSpec, ...]) -> list[ToolCall]:
    return [call for item in _items(value) if (call := _call(item, tools, is_sure=True))]


def _tag_calls(body: str, tools: tuple[ToolSpec, ...]) -> list[ToolCall]:
    functions = _functions(body, tools)
    if functions:
        return [call for _, _, call in functions]
    try:
        value = read_json(body)
    except ValueError:
        value = None
    calls = _calls_of(value, tools)
    if calls:
        return calls
    reason = f"not a JSON object with name and arguments (cut off?): {body.strip():.200}"
    return [ToolCall(call_id="", tool=named_tool(body, tools), arguments={INVALID_ARGUMENTS: reason})]


def _functions(text: str, tools: tuple[ToolSpec, ...]) -> list[tuple[int, int, ToolCall]]:
    """<function=name>, with parameters as tags of their own or as one JSON object."""
    kinds = {tool.name: tool.parameters.get("properties", {}) for tool in tools}
    calls = []
    for match in islice(FUNCTION.finditer(text), MAX_TAGS):
        name, body = match[1], match[2]
        if "<parameter=" not in body:
            arguments = read_arguments(body)
        elif match[0].endswith("</function>"):
            known = kinds.get(name, {})
            arguments = read_arguments(
                {key: _typed(value, known.get(key)) for key, value in _parameters(body)}
            )
        else:
            arguments = {INVALID_ARGUMENTS: f"<function={name}> has no end (cut off?)"}
        calls.append((match.start(), match.end(), ToolCall(call_id="", tool=name, arguments=arguments)))
    return calls


def _parameters(body: str) -> Iterator[tuple[str, str]]:
    for piece in body.split("<parameter=")[1:]:
        name, _, rest = piece.partition(">")
        value = rest.rpartition("</parameter>")[0] or rest
        yield name, value.removeprefix("\n").removesuffix("\n")


def _typed(value: str, kind: Any) -> Any:
    """A parameter that is given as text, as the type that the tool asks for."""
    if not isinstance(kind, dict) or kind.get("type", "string") == "string":
        return value
    try:
        return read_json(value)
    except ValueError:
        return value


def _fenced(text: str) -> Iterator[tuple[int, int, Any]]:
    for block in blocks_in(text):
        try:
            yield block.start, block.end, read_json(block.text)
        except ValueError:
            continue


def _bare(text: str) -> Iterator[tuple[int, int, Any]]:
    """JSON values that begin as a call would, anywhere in the text."""
    position = 0
    for _ in range(MAX_OPENINGS):
        match = OPENING.search(text, position)
        if match is None:
            return
        value, end = _value_at(text, match.start())
        position = max(end, match.start() + 1)
        if value is not None:
            mark = MARKED.search(text[: match.start()])
            yield (mark.start() if mark else match.start()), end, value


def _value_at(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins at `start` and where it ends; (None, start) if none does."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        pass
    end = _balanced_end(text, start)
    try:
        return read_json(text[start:end]), end
    except ValueError:
        return None, start


def _balanced_end(text: str, start: int) -> int:
    depth = 0
    for match in re.finditer(STRING + r"|[{}\[\]]", text[start:], re.DOTALL):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth == 0:
            return start + match.end()
    return start


def _from_values(text: str, spans: list[tuple[int, int, Any]], tools: tuple[ToolSpec, ...]) -> Found:
    says: list[str] = []
    calls: list[ToolCall] = []
    used: list[tuple[int, int]] = []
    for start, end, value in spans:
        is_reply = isinstance(value, dict) and any(isinstance(value.get(key), list) for key in LIST_KEYS)
        found = [_call(item, tools, is_sure=is_reply) for item in _items(value)]
        if is_reply:
            says += [printable(value[key]) for key in SAY_KEYS if isinstance(value.get(key), str)][:1]
        if is_reply or any(found):
            used.append((start, end))
        calls += [call for call in found if call]
    if not used:
        return Found(text=text)
    if any(INVALID_ARGUMENTS in call.arguments for call in calls):
        return Found(text=text, calls=calls, is_read=True)
    around = _without(text, used).strip()
    return Found(text="\n\n".join([*([around] if around else []), *says]), calls=calls, is_read=True)


def _items(value: Any) -> list[Any]:
    """The calls of a value that may be one, a list of them, or an object that holds such a list."""
    if isinstance(value, dict):
        lists = [value[key] for key in LIST_KEYS if isinstance(value.get(key), list)]
        return lists[0] if lists else [value]
    return value if isinstance(value, list) else []


def _call(item: Any, tools: tuple[ToolSpec, ...], *, is_sure: bool) -> ToolCall | None:
    """`item` as a call. One that may be something else must name a tool, or have a name and arguments."""
    if not isinstance(item, dict):
        return None
    body = item["function"] if isinstance(item.get("function"), dict) else item
    name_key = next((key for key in NAME_KEYS if isinstance(body.get(key), str)), None)
    if name_key is None:
        return None
    name = printable(body[name_key]).removeprefix("functions.")
    is_known = any(tool.name == name for tool in tools)
    key = next((key for key in ARGUMENT_KEYS if key in body), None)
    if not (is_known or (is_sure or key is not None)):
        return None
    if key is None:  # the arguments stand beside the name
        flat = {other: value for other, value in body.items() if other not in (name_key, "id", "type")}
        return ToolCall(call_id="", tool=name, arguments=read_arguments(flat))
    return ToolCall(call_id="", tool=name, arguments=read_arguments(body[key]))


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    parts, position = [], 0
    for start, end in sorted(set(spans)):
        parts.append(text[position:start])
        position = max(position, end)
    return "".join([*parts, text[position:]])
