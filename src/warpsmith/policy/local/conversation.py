"""A conversation as token ids that grow: what was drawn is never made into tokens a second time."""

from dataclasses import dataclass
from typing import Any

from warpsmith.core import Message, Role, ToolSpec
from warpsmith.policy.actions import Style, guided, render
from warpsmith.policy.base import INVALID_ARGUMENTS
from warpsmith.policy.local.template import Template


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What the model reads next."""

    ids: tuple[int, ...]
    num_kept: int  # of them stand as they were read and drawn before
    retemplated: str = ""  # why all was made into tokens anew; empty if the earlier ids were kept


class Conversation:
    """Remembers the ids of one conversation, and appends to them what is new.

    Where that would not give what the template writes, all is templated anew, and the prompt says why: the
    first time; after a compaction; when other tools are offered; when reasoning shall not be read again;
    and with a template that writes old messages differently as the conversation goes on.
    """

    def __init__(self, template: Template, style: Style, *, feeds_thinking: bool) -> None:
        self._template = template
        self._style = style
        self._feeds_thinking = feeds_thinking
        self._messages: tuple[Message, ...] = ()
        self._tools: tuple[ToolSpec, ...] = ()
        self._ids: tuple[int, ...] = ()

    def prompt(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Prompt:
        """Raises UsageError if the template refuses the conversation."""
        added = self._added(messages, tools)
        if isinstance(added, str):
            text = self._text(messages, tools, is_open=True)
            return Prompt(ids=tuple(self._template.ids(text)), num_kept=0, retemplated=added)
        return Prompt(ids=(*self._ids, *added), num_kept=len(self._ids))

    def remember(
        self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], reply: Message, ids: tuple[int, ...]
    ) -> None:
        """`ids` are all that was read and drawn, up to the end of `reply`."""
        self._messages, self._tools, self._ids = (*messages, reply), tools, ids

    def _added(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> list[int] | str:
        """The ids of what is new, or why they can't just be appended."""
        seen = self._messages
        if not seen:
            return "nothing was read before"
        if messages[: len(seen)] != seen:
            return "earlier messages differ from those that were read and said"
        if tools != self._tools:
            return "other tools are offered"
        if seen[-1].thinking and not self._feeds_thinking:
            return "reasoning is not read again"
        end = self._template.end_of_turn
        if end is None:
            return "the chat template ends no turn by a token"
        return self._glue(seen, messages, tools, end)

    def _glue(
        self,
        seen: tuple[Message, ...],
        messages: tuple[Message, ...],
        tools: tuple[ToolSpec, ...],
        end: tuple[int, str],
    ) -> list[int] | str:
        end_id, end_text = end
        before = self._text(seen, tools, is_open=False)
        whole = self._text(messages, tools, is_open=True)
        cut = before.rfind(end_text) + len(end_text)
        if not whole.startswith(before) or cut < len(end_text):
            return "the chat template writes earlier messages differently now"
        glue = self._template.ids(whole[cut:])
        if self._template.ids(whole)[-len(glue) :] != glue:
            return "the tokenizer reads what is new differently by itself"
        return glue if self._ids[-1] == end_id else [end_id, *glue]  # a reply that was cut gets its end

    def _text(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], *, is_open: bool) -> str:
        if self._style is Style.TOOLS:
            wire = [_wire(message, feeds_thinking=self._feeds_thinking) for message in messages]
            return self._template.text(wire, [_wire_tool(tool) for tool in tools], is_open=is_open)
        told = guided(self._style, messages, tools)
        return self._template.text(
            render(self._style, told, feeds_thinking=self._feeds_thinking), (), is_open=is_open
        )


def _wire(message: Message, *, feeds_thinking: bool) -> dict[str, Any]:
    if message.role is Role.TOOL:
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    wire: dict[str, Any] = {"role": message.role.value, "content": message.text}
    if feeds_thinking and message.thinking:
        wire["reasoning_content"] = message.thinking
    # The text of a reply whose calls can't be read holds them as they were written.
    if message.tool_calls and not any(INVALID_ARGUMENTS in call.arguments for call in message.tool_calls):
        wire["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.tool, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    return wire


def _wire_tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}
