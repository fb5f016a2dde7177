"""Turns that a policy no longer hears: their text for a file, and a line each for the conversation."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count, islice

from warpsmith.agent.feedback import verdict_text
from warpsmith.agent.window.tokens import json_text
from warpsmith.core import Message, Passed, Provenance, Role, ToolCall, Verdict

FOLDER = "history"
"""In the workspace, where the policy can read it."""

MAX_WORDS = 100  # characters of what was said, or of a verdict
MAX_CALLS = 8
HEADING = (
    "To make room, earlier turns were left out of this conversation. What they said lies in the workspace:"
)
LINE = re.compile(r"turns? (\d+)(?:-(\d+))? \(")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One or more turns in a row, in a line of the summary."""

    first: int
    last: int
    text: str

    @property
    def numbers(self) -> range:
        return range(self.first, self.last + 1)


def path_of(number: int) -> str:
    """The file that holds a turn; number 0 is what came before the first."""
    return f"{FOLDER}/turn-{number:03d}.md"


def left_out(number: int) -> str:
    """What stands where something of a turn was left out; also the mark that its file has been written."""
    return f"left out to make room; the whole is in {path_of(number)}"


def is_marked(number: int, messages: Iterable[Message]) -> bool:
    """Whether something of these messages, of turn `number`, was left out before."""
    mark = left_out(number)
    return any(mark in text for message in messages for text in _texts(message))


def turn_text(number: int, messages: Iterable[Message]) -> str:
    """All that was said in a turn, as Markdown."""
    text = "\n\n".join([f"# Turn {number}", *(_message_text(message) for message in messages)]) + "\n"
    return text.encode(errors="replace").decode()  # a file holds no half of a surrogate pair


def turn_line(number: int, messages: Sequence[Message]) -> Line:
    """What was called, the last verdict, and what a user said meanwhile."""
    calls = [_call_words(call) for message in messages for call in message.tool_calls]
    said = ", ".join(calls[:MAX_CALLS]) + (f" and {len(calls) - MAX_CALLS} more" * (len(calls) > MAX_CALLS))
    verdicts = [message.verdict for message in messages if message.verdict is not None]
    told = [message.text for message in messages if message.role is Role.USER]
    text = said or f"said: {one_line(messages[0].text)}"
    if verdicts:
        text += f" -> {verdict_words(verdicts[-1])}"
    if told:
        text += f"; then it was told: {one_line(told[-1])}"
    return Line(first=number, last=number, text=f"turn {number} ({path_of(number)}): {text}")


def verdict_words(verdict: Verdict) -> str:
    """A verdict in one line."""
    if not isinstance(verdict, Passed):
        return one_line(verdict_text(verdict))
    timing = verdict.timing
    if timing is None:
        return "correct"
    time = f"correct, {timing.candidate.median_us:.1f} us"
    if timing.provenance is Provenance.MODELLED:
        return f"{time} (modelled)"
    return f"{time}, {timing.best_baseline.centre:.2f} times as fast as the better baseline"


def one_line(text: str) -> str:
    """The beginning of `text`, without line breaks."""
    words = " ".join(text[: 4 * MAX_WORDS].split())
    return words if len(words) <= MAX_WORDS else f"{words[: MAX_WORDS - 3]}..."


def summary(lines: Iterable[Line]) -> str:
    """The message that stands for turns that are gone; `lines_of` reads it back."""
    return "\n".join([HEADING, *(line.text for line in sorted(lines, key=lambda line: line.first))])


def lines_of(text: str) -> list[Line] | None:
    """The lines of such a message; None if it is none."""
    heading, *rest = text.split("\n")
    if heading != HEADING:
        return None
    lines = []
    for line in rest:
        found = LINE.match(line)
        if found is None:
            return None
        first, last = int(found[1]), int(found[2] or found[1])
        lines.append(Line(first=first, last=last, text=line))
    return lines


def collapsed(lines: list[Line], num_lines: int) -> list[Line]:
    """At most `num_lines` of single turns, the latest; the earlier ones by their numbers alone."""
    ordered = sorted(lines, key=lambda line: line.first)
    split = max(0, len(ordered) - num_lines)
    ranges: list[Line] = []
    for line in ordered[:split]:
        first = line.first
        if ranges and ranges[-1].last + 1 == first:
            first = ranges.pop().first
        ranges.append(_range_line(first, line.last))
    return ranges + ordered[split:]


def remaining(lines: Iterable[Line], num_turns: int) -> list[int]:
    """The numbers of the turns that are still there, if there are `num_turns` of them."""
    gone = {number for line in lines for number in line.numbers}
    return list(islice((number for number in count(1) if number not in gone), num_turns))


def _range_line(first: int, last: int) -> Line:
    if first == last:
        return Line(first=first, last=last, text=f"turn {first} ({path_of(first)})")
    return Line(
        first=first,
        last=last,
        text=f"turns {first}-{last} ({path_of(first)} to {path_of(last)}, a file each)",
    )


def _call_words(call: ToolCall) -> str:
    arguments = (call.arguments.get(name) for name in ("path", "command", "pattern"))
    what = next((argument for argument in arguments if isinstance(argument, str)), "")
    return one_line(f"{call.tool} {what}")


def _message_text(message: Message) -> str:
    parts = [f"## {message.role}"]
    if message.thinking:
        parts.append(f"(thinking)\n\n{message.thinking}")
    if message.text:
        parts.append(message.text)
    parts += [f"call {call.call_id}: {call.tool}\n\n{_arguments_text(call)}" for call in message.tool_calls]
    return "\n\n".join(parts)


def _arguments_text(call: ToolCall) -> str:
    """Long texts as they are, so that a program can be copied out of the file."""
    return "\n\n".join(
        f"{name}:\n{value if isinstance(value, str) else json_text(value)}"
        for name, value in call.arguments.items()
    )


def _texts(message: Message) -> Iterable[str]:
    yield message.text
    yield message.thinking
    for call in message.tool_calls:
        yield json_text(call.arguments)
