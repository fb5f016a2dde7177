"""Text that a model wrote, read leniently: JSON with the usual slips, reasoning, loops. Nothing here raises.

A text that breaks off is never completed by guess: half a file that looks whole would be compiled.
"""

import ast
import json
import re
import warnings
from collections.abc import Callable
from typing import Any

from warpsmith.policy.base import INVALID_ARGUMENTS

MAX_CHARACTERS = 400_000  # of one text: about what a window of 131,072 tokens holds
LOOP_CHARACTERS = 1_000  # that a loop must span
LOOP_ROUNDS = 8  # that it must have gone
LOOP_WINDOW = 16_000  # of the text's end, where a loop is looked for

STRING = (
    r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)'  # one without an end goes to the end: tried once, not at each quote
)
STRING_OR_COMMA = re.compile(STRING + r"|,(?=\s*[}\]])", re.DOTALL)
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
THINKING = re.compile(
    r"\s*(?:<(think|thinking|thought|reasoning)>(.*?)(?:</\1>|\Z)|\[THINK\](.*?)(?:\[/THINK\]|\Z))", re.DOTALL
)
THOUGHT_END = re.compile(r"</think(?:ing)?>")


def printable(text: str) -> str:
    """`text` without halves of surrogate pairs, which no file and no digest takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def split_thinking(text: str) -> tuple[str, str]:
    """(reasoning, answer) of a reply that opens with <think>…</think>.

    Without an end it is all reasoning; an end without a beginning comes from a template that opened it.
    """
    thoughts, position = [], 0
    while match := THINKING.match(text, position):
        thoughts.append((match[2] or match[3] or "").strip())
        position = match.end()
    if not thoughts:
        end = THOUGHT_END.search(text)
        if end is None or re.search(r"<think(?:ing)?>", text[: end.start()]):
            return "", text
        return text[: end.start()].strip(), text[end.end() :].strip()
    return "\n\n".join(thought for thought in thoughts if thought), text[position:].strip()


def read_arguments(given: Any) -> dict[str, Any]:
    """A tool call's arguments, as an object or as its text; {INVALID_ARGUMENTS: why} if they can't be read.

    The tool then refuses the call by that reason: the model hears of it and can try again.
    """
    if given is None or given == []:
        return {}
    if isinstance(given, dict):  # some servers send the object itself
        return _checked(given)
    if not isinstance(given, str):
        return {INVALID_ARGUMENTS: f"expected a JSON object, found {printable(repr(given)):.200}"}
    if len(given) > MAX_CHARACTERS:
        return {INVALID_ARGUMENTS: f"{len(given)} characters; a call may have {MAX_CHARACTERS}"}
    try:
        value = read_json(given.strip() or "{}")
        if isinstance(value, str):  # encoded twice
            value = read_json(value)
    except ValueError:
        value = None
    if isinstance(value, dict) or value == []:
        return _checked(dict(value))
    return {INVALID_ARGUMENTS: f"expected a JSON object (cut off?), found {printable(given):.200}"}


def _checked(arguments: dict[Any, Any]) -> dict[str, Any]:
    """`arguments` if they are of a size and depth to work with, without halves of surrogate pairs.

    Those come as escapes, wherever there is text: a round trip finds them.
    """
    try:
        named = {str(key): value for key, value in arguments.items()}
        text = json.dumps(named, ensure_ascii=False, allow_nan=False)
        if len(text) > MAX_CHARACTERS:
            return {INVALID_ARGUMENTS: f"{len(text)} characters; a call may have {MAX_CHARACTERS}"}
        checked: dict[str, Any] = json.loads(printable(text))
    except (ValueError, TypeError, RecursionError):
        return {INVALID_ARGUMENTS: "they are nested too deeply, or hold a number that JSON does not have"}
    return checked


def read_json(text: str) -> Any:
    """The value of a text that is JSON but for fences, raw newlines, trailing commas, stray backslashes or
    Python's literals. Raises ValueError for anything else.
    """
    body = without_fence(text)
    readers: tuple[Callable[[str], Any], ...] = (
        lambda body: json.loads(body, strict=False),
        lambda body: json.loads(_repaired(body), strict=False),
        _python_literal,
    )
    for read in readers:
        try:
            return read(body)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    raise ValueError("not JSON")


def without_fence(text: str) -> str:
    lines = text.strip().splitlines()
    is_fenced = len(lines) >= 2 and lines[0].startswith("```") and lines[-1].strip() == "```"
    return "\n".join(lines[1:-1]) if is_fenced else text.strip()


def _repaired(text: str) -> str:
    """Without commas before a closing bracket, and with a backslash that escapes nothing taken as itself."""
    text = STRING_OR_COMMA.sub(lambda match: "" if match[0] == "," else match[0], text)

    def escape(match: re.Match[str]) -> str:
        if match[1] in '"\\/bfnrtu':
            return match[0]
        return "'" if match[1] == "'" else "\\\\" + match[1]

    return ESCAPE.sub(escape, text)


def _python_literal(text: str) -> Any:
    with warnings.catch_warnings():  # of an odd escape in the model's text: not for the user's eyes
        warnings.simplefilter("ignore")
        value = ast.literal_eval(text)
    json.dumps(value)  # a set or bytes is no JSON
    return value


def bounded(text: str) -> tuple[str, bool]:
    """`text` without the loop that it ends in and not longer than a reply may be; whether it was cut."""
    text, has_loop = without_loop(text)
    if len(text) <= MAX_CHARACTERS:
        return text, has_loop
    note = f"\n[cut: the reply has {len(text)} characters]"
    return text[: MAX_CHARACTERS - len(note)] + note, True


def without_loop(text: str) -> tuple[str, bool]:
    """`text` with an end that repeats itself cut to two rounds and a note, and whether there was one."""
    start, period = _loop(text)
    if period == 0:
        return text, False
    kept = text[: start + 2 * period].rstrip()
    rounds = (len(text) - start) // period
    return f"{kept}\n[cut: the reply repeats this {rounds} times]", True


def _loop(text: str) -> tuple[int, int]:
    """(where the end's loop begins, its length); (0, 0) if the end does not repeat itself.

    The borders of the reversed end (Knuth, Morris, Pratt) give the period of each stretch up to the end.
    """
    tail = text.rstrip()[-LOOP_WINDOW:][::-1]
    borders = [0] * len(tail)
    span, period = 0, 0
    for index in range(1, len(tail)):
        border = borders[index - 1]
        while border and tail[index] != tail[border]:
            border = borders[border - 1]
        border += tail[index] == tail[border]
        borders[index] = border
        length = index + 1
        if length >= LOOP_CHARACTERS and length >= LOOP_ROUNDS * (length - border):
            span, period = length, length - border
    if not period:
        return 0, 0
    start = len(text.rstrip()) - span
    while start > 0 and text[start - 1] == text[start - 1 + period]:
        start -= 1
    return start, period
