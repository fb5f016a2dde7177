"""A local model as the voice in a conversation."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from warpsmith.core import Cost, InfraError, Message, Role, ToolSpec
from warpsmith.device.lease import lease
from warpsmith.policy.actions import Style, parse, with_unique_ids
from warpsmith.policy.base import PolicyConfig, Price, Reply, Sampling, Tokens
from warpsmith.policy.local.conversation import Conversation, Prompt

if TYPE_CHECKING:
    from warpsmith.policy.local.tokens import TokenOutput

SEED_STEP = 1_000_003  # between turns, so that a turn's rows and the next turn's don't share chance


class LocalPolicy:
    """A checkpoint in this process. Not for two conversations at once; make one each, they share the model.

    `Reply.tokens` has the ids that were read and those that were drawn, the end of the turn included, with
    the latter's log-probabilities under softmax(logits / temperature) over the whole vocabulary, before
    top_p; at temperature 1 if drawing was greedy (see TokenOutput). The next prompt begins with exactly
    these ids, unless `prompt.retemplated` says why it does not.

    The style `auto` is the chat template's own tool calls if it has any, else whole files. A reply ends at
    the end-of-turn token; one that reaches max_tokens, the context's end or `timeout_s` is cut, and marked
    so. What sampling leaves open is as the checkpoint's generation config says.
    """

    def __init__(
        self, path: str, config: PolicyConfig, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Raises what `checkpoint.load` raises, and UsageError for an unknown style."""
        style = Style.of(config.style)
        from warpsmith.policy.local.checkpoint import load
        from warpsmith.policy.local.engine import Engine  # imports torch
        from warpsmith.policy.local.plain import Prefix

        self._model = load(path)
        self.name = f"local:{path}"
        self.context_tokens: int | None = min(
            self._model.context_tokens, config.context_tokens or self._model.context_tokens
        )
        self.style = style or (Style.TOOLS if self._model.template.knows_tools else Style.FILES)
        self.prompt: Prompt | None = None  # the last one
        self._config = config
        self._clock = clock
        self._conversation = Conversation(
            self._model.template, self.style, feeds_thinking=config.feeds_thinking
        )
        self._engine = Engine(
            self._model.model, stop_ids=self._model.stop_ids, context_tokens=self.context_tokens
        )
        self._prefix = Prefix()

    def respond(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...]) -> Reply:
        """The model's next message.

        Raises InfraError when the prompt leaves no room in the context or memory runs out; UsageError when
        the chat template refuses the conversation.
        """
        if not messages:
            raise InfraError("a conversation opens with a message to the policy; this one is empty")
        began_s = self._clock()
        prompt = self.prompt = self._conversation.prompt(messages, tools)
        output = self._drawn(prompt, self._sampling(messages), began_s)
        message = with_unique_ids(parse(self.style, self._text(output), tools), messages)
        self._conversation.remember(messages, tools, message, prompt.ids + output.ids)
        price = self._config.price or Price()
        cost = Cost(
            prompt_tokens=len(prompt.ids),
            completion_tokens=len(output.ids),
            usd=price.usd(len(prompt.ids), len(output.ids)),
            wall_s=max(0.0, self._clock() - began_s),
        )
        tokens = Tokens(prompt_ids=prompt.ids, ids=output.ids, logprobs=output.logprobs)
        return Reply(message=message, cost=cost, tokens=tokens, is_cut=output.is_cut)

    def _drawn(self, prompt: Prompt, sampling: Sampling, began_s: float) -> "TokenOutput":
        from warpsmith.policy.local.checkpoint import out_of_memory

        num_tokens = len(prompt.ids)
        try:
            # Whoever times a program must have the GPU alone.
            with self._model.turn, lease(self._model.device, is_exclusive=False):
                (output,) = self._engine.generate(
                    [prompt.ids],
                    sampling,
                    prefix=self._prefix,
                    is_late=lambda: self._clock() - began_s >= self._config.timeout_s,
                )
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            raise InfraError(
                f"{self.name}: no memory on {self._model.device.name} for {num_tokens} tokens of prompt "
                f"and up to {sampling.max_tokens} more; lower context_tokens or max_tokens"
            ) from error
        return output

    def _sampling(self, messages: tuple[Message, ...]) -> Sampling:
        """Each turn with a seed of its own, which a resumed conversation finds again."""
        sampling = self._config.sampling
        if sampling.seed is None:
            return sampling
        turn = sum(message.role is Role.ASSISTANT for message in messages)
        return replace(sampling, seed=sampling.seed + turn * SEED_STEP)

    def _text(self, output: "TokenOutput") -> str:
        return self._model.template.said(output.ids if output.is_cut else output.ids[:-1])
