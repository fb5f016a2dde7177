"""Samples from plain text, a teacher's or another model's, in tokens as the student would read them."""

from dataclasses import dataclass, replace
from typing import Self

from warpsmith.core import Message, Role, ToolSpec, UsageError
from warpsmith.learn.trajectory.drawn import Origin
from warpsmith.learn.trajectory.nouns import Sample, Span
from warpsmith.policy.actions import Style
from warpsmith.policy.local.conversation import Conversation
from warpsmith.policy.local.template import Template


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a student reads a conversation: its policy must read it in the same way later."""

    template: Template
    style: Style
    tools: tuple[ToolSpec, ...] = ()

    @classmethod
    def of(cls, template: Template, tools: tuple[ToolSpec, ...]) -> Self:
        """As a local policy does by itself: its own tool calls if the template has any, else whole files."""
        return cls(template=template, style=Style.TOOLS if template.knows_tools else Style.FILES, tools=tools)


def sample_of(messages: tuple[Message, ...], reading: Reading, origin: Origin) -> Sample:
    """The conversation as ids, with a span for each of the assistant's messages, its end of turn included.

    Messages after the last reply are left out, and so is reasoning. Raises UsageError if there is no reply,
    or the template does not let one tell where each begins and ends.
    """
    template = reading.template
    replies = [place for place, message in enumerate(messages) if message.role is Role.ASSISTANT]
    if not replies or replies[0] == 0:
        raise UsageError(f"{origin.sample_id}: a conversation needs a reply, and something before it")
    if template.end_of_turn is None:
        raise UsageError(f"{origin.sample_id}: the chat template ends no turn by a token")
    messages = tuple(replace(message, thinking="") for message in messages[: replies[-1] + 1])

    def ids(until: int) -> tuple[int, ...]:
        conversation = Conversation(template, reading.style, feeds_thinking=False)
        return conversation.prompt(messages[:until], reading.tools).ids

    whole = ids(len(messages))
    starts = []
    for place in replies:
        before = ids(place)
        if whole[: len(before)] != before:
            raise UsageError(
                f"{origin.sample_id}: the chat template writes earlier messages differently as the "
                "conversation goes on; no one sequence of tokens stands for it"
            )
        starts.append(len(before))
    spans = tuple(_span(whole, start, template.end_of_turn[0], origin) for start in starts)
    return Sample(
        sample_id=origin.sample_id,
        task_id=origin.task_id,
        ids=whole[: spans[-1].end],
        spans=spans,
        group=origin.group,
        tokenizer=origin.tokenizer,
        outcome=origin.outcome,
        is_truncated=origin.is_truncated,
    )


def _span(ids: tuple[int, ...], start: int, end_id: int, origin: Origin) -> Span:
    """A reply ends at the first end of turn: the template breaks up those that stand in a text."""
    try:
        return Span(start=start, end=ids.index(end_id, start) + 1, weights=origin.weights)
    except ValueError:
        raise UsageError(f"{origin.sample_id}: a reply has no end in the template's text") from None
