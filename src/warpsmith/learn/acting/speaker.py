"""The student's voice in one conversation."""

import time
from collections.abc import Callable, Sequence

from warpsmith.core import Cost, InfraError, Message, ToolSpec
from warpsmith.learn.trajectory.templated import Reading
from warpsmith.policy.actions import parse, with_unique_ids
from warpsmith.policy.base import Reply, Tokens
from warpsmith.policy.local.conversation import Conversation
from warpsmith.policy.local.tokens import TokenOutput

Draw = Callable[[Sequence[int]], TokenOutput]


class Speaker:
    """A Policy that reads and writes as a local policy does; its tokens are drawn by whoever is given."""

    name = "student"

    def __init__(self, draw: Draw, reading: Reading, context_tokens: int) -> None:
        self.context_tokens: int | None = context_tokens
        self._draw = draw
        self._reading = reading
        self._room = context_tokens
        self._conversation = Conversation(reading.template, reading.style, feeds_thinking=False)

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:
        """Raises InfraError when the prompt leaves no room in the context, or nothing could be drawn."""
        begun_s = time.monotonic()
        prompt = self._conversation.prompt(messages, tools)
        if len(prompt.ids) >= self._room:
            raise InfraError(f"{len(prompt.ids)} tokens of prompt leave no room in a context of {self._room}")
        output = self._draw(prompt.ids)
        text = self._reading.template.said(output.ids if output.is_cut else output.ids[:-1])
        message = with_unique_ids(parse(self._reading.style, text, tools), messages)
        self._conversation.remember(messages, tools, message, prompt.ids + output.ids)
        cost = Cost(
            prompt_tokens=len(prompt.ids),
            completion_tokens=len(output.ids),
            wall_s=time.monotonic() - begun_s,
        )
        tokens = Tokens(prompt_ids=prompt.ids, ids=output.ids, logprobs=output.logprobs)
        return Reply(message=message, cost=cost, tokens=tokens, is_cut=output.is_cut)
