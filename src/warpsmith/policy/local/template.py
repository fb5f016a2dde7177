"""A checkpoint's chat template: messages in, token ids out."""

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from warpsmith.core import UsageError
from warpsmith.policy.actions import printable

SAID = "answer-so-far"
TOOL = {
    "type": "function",
    "function": {
        "name": "probe_tool",
        "description": "probe",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}
CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {
            "id": "call_0",
            "type": "function",
            "function": {"name": "probe_tool", "arguments": {"path": "probe_path"}},
        }
    ],
}
ASKED = {"role": "user", "content": "probe_user"}
ANSWERED = {"role": "tool", "tool_call_id": "call_0", "name": "probe_tool", "content": "probe_result"}

Wire = list[dict[str, Any]]


class Template:
    """What the template can do is found out by using it: its text says little.

    Special tokens spelled out in a message's text are broken up first. Otherwise what a program prints
    could end a turn, and speak as the system.
    """

    def __init__(self, tokenizer: Any, name: str) -> None:
        self._tokenizer = tokenizer
        self._name = name
        added = tokenizer.added_tokens_decoder.values()
        special = {token.content for token in added if token.special} | set(tokenizer.all_special_tokens)
        self._special = sorted((text for text in special if len(text) > 1), key=len, reverse=True)
        if not tokenizer.chat_template:
            raise UsageError(
                f"{name}: the tokenizer has no chat template; put chat_template.jinja into the folder"
            )
        self.text([ASKED], (), is_open=True)

    def text(self, wire: Wire, tools: Sequence[dict[str, Any]], *, is_open: bool) -> str:
        """The conversation's text; open for the assistant's next words if `is_open`.

        Raises UsageError if the template refuses it.
        """
        from jinja2 import TemplateError

        messages = [self._harmless(message) for message in (wire if self._takes_system else _folded(wire))]
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    messages, tools=list(tools) or None, tokenize=False, add_generation_prompt=is_open
                )
            )
        except (TemplateError, TypeError, ValueError, KeyError, AttributeError) as error:
            reason = " ".join(str(error).split())
            raise UsageError(
                f"{self._name}: its chat template refuses this conversation: {reason:.200}"
            ) from error

    def ids(self, text: str) -> list[int]:
        return [int(token) for token in self._tokenizer(text, add_special_tokens=False)["input_ids"]]

    def said(self, ids: Sequence[int]) -> str:
        """The text of drawn ids. Special tokens stay visible: some models write their calls with them."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))

    @cached_property
    def knows_tools(self) -> bool:
        """Whether tools, calls and results all come out in its text."""
        try:
            text = self.text([ASKED, CALL, ANSWERED], (TOOL,), is_open=True)
        except UsageError:
            return False
        return text.count("probe_tool") >= 2 and "probe_path" in text and "probe_result" in text

    @cached_property
    def end_of_turn(self) -> tuple[int, str] | None:
        """What the template writes after an assistant's words, as id and text; None if it is no one token."""
        text = self.text([ASKED, {"role": "assistant", "content": SAID}], (), is_open=False)
        tail = text.rpartition(SAID)[2].lstrip()
        ids = self.ids(tail)
        first = self._tokenizer.convert_ids_to_tokens(ids[:1])
        return (ids[0], str(first[0])) if first and first[0] in self._special else None

    @cached_property
    def _takes_system(self) -> bool:
        from jinja2 import TemplateError

        system = {"role": "system", "content": "probe_system"}
        try:
            text = self._tokenizer.apply_chat_template([system, ASKED], tokenize=False)
        except (TemplateError, TypeError, ValueError, KeyError, AttributeError):
            return False
        return "probe_system" in text

    def _harmless(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._harmless(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._harmless(item) for item in value]
        if not isinstance(value, str):
            return value
        value = printable(value)
        for special in self._special:
            value = value.replace(special, f"{special[0]} {special[1:]}")
        return value


def _folded(wire: Wire) -> Wire:
    """The system's words at the head of the user's, for a template that has no system."""
    if len(wire) < 2 or wire[0]["role"] != "system" or wire[1]["role"] != "user":
        return [{**message, "role": "user"} if message["role"] == "system" else message for message in wire]
    both = f"{wire[0]['content']}\n\n{wire[1]['content']}"
    return [{"role": "user", "content": both}, *wire[2:]]


def vocabulary_of(tokenizer: Any) -> str:
    """A digest of which text each id stands for: samples of another one mean something else."""
    words = sorted(tokenizer.get_vocab().items())
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:16]
