"""What an endpoint sent, in no wire format any more, and how it becomes a message."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from warpsmith.core import Message, Role, ToolCall, ToolSpec
from warpsmith.policy.actions import Style, bounded, parse, printable, split_thinking

EMPTY_TRIES = 3  # a model may have nothing to say; a server may have lost it
MAX_TOKENS = 1_000_000_000  # a count above is nonsense


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer. None for tokens that the endpoint did not count."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    thinking_field: str | None = None  # where it stood, if not in the text
    is_cut: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    billed_tokens: float | None = None  # of the prompt, if a cache makes some of them dearer or cheaper
    has_logprobs: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.text.strip() and not self.calls and not self.thinking


def until_said(ask: Callable[[], Answer]) -> list[Answer]:
    """Answers up to the first that says something; all were paid for."""
    answers = [ask()]
    while answers[-1].is_empty and len(answers) < EMPTY_TRIES:
        answers.append(ask())
    return answers


def message_of(answer: Answer, style: Style, tools: tuple[ToolSpec, ...]) -> tuple[Message, bool]:
    """The assistant's message, and whether it was cut off: by its limit, by its length, or in a loop."""
    text, is_cut = bounded(answer.text)
    thinking, _ = bounded(answer.thinking)
    if answer.calls:
        aloud, said = split_thinking(text)
        message = Message(role=Role.ASSISTANT, text=said, tool_calls=answer.calls, thinking=aloud)
    else:
        message = parse(style, text, tools)
    thoughts = "\n\n".join(part for part in (thinking, message.thinking) if part)
    return replace(message, thinking=thoughts), is_cut or answer.is_cut


def count_of(value: Any) -> int | None:
    """A count of tokens, or None if it cannot be one."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS
    return value if is_count else None


def text_of(content: Any) -> str:
    """The text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return printable(content)
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return printable("".join(part for part in parts if isinstance(part, str)))
    return ""
