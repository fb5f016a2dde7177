"""A policy that reads its replies from a list: a whole episode without a model."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from warpsmith.core import Cost, InfraError, Message, Role, ToolSpec, UsageError
from warpsmith.core.codec import from_data
from warpsmith.policy.base import Reply


class ScriptedPolicy:
    """Says the given messages one after the other, and then that it has finished.

    `heard` keeps what it was told at each turn and `offered` the tools it had last, for tests to look at.
    """

    def __init__(
        self, replies: Sequence[Message], *, cost: Cost | None = None, name: str = "scripted"
    ) -> None:
        self.name = name
        self.context_tokens: int | None = None
        self.heard: list[tuple[Message, ...]] = []
        self.offered: tuple[ToolSpec, ...] = ()
        self._replies = tuple(replies)
        self._cost = cost or Cost()

    @classmethod
    def from_file(cls, path: str) -> Self:
        """Replies from a JSON list of messages, each with `text` and perhaps `tool_calls`.

        Raises UsageError if the file cannot be read as that.
        """
        try:
            items = json.loads(Path(path).read_text())
            replies = [from_data(Message, {"role": Role.ASSISTANT, **item}) for item in items]
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(f"{path} is no JSON list of messages: {error}") from error
        return cls(replies)

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:
        """The next reply of the list, whatever was said; after the last one a reply without tool calls."""
        if not messages:
            raise InfraError("a conversation opens with a message to the policy; this one is empty")
        turn = sum(message.role is Role.ASSISTANT for message in messages)  # also of a run that goes on
        self.heard.append(messages)
        self.offered = tools
        done = Message(role=Role.ASSISTANT, text="The script has ended.")
        return Reply(message=self._replies[turn] if turn < len(self._replies) else done, cost=self._cost)
