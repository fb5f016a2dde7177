"""Token ids in, token ids out: what training needs of a model, whatever runs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from warpsmith.policy.base import Sampling


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenOutput:
    """What a model drew after one prompt.

    `logprobs` are those of `ids` under softmax(logits / temperature) over the whole vocabulary, in float32:
    before top_p removes the tail, so that a trainer computes the same from its own logits. Greedy drawing,
    at temperature 0, gives them at temperature 1.
    """

    ids: tuple[int, ...]  # the end of the turn included
    logprobs: tuple[float, ...]  # one for each of `ids`
    is_cut: bool  # by a limit; else the last id ends the turn


class TokenPolicy(Protocol):
    """Continues prompts of token ids."""

    def generate(self, prompts: Sequence[Sequence[int]], sampling: Sampling) -> tuple[TokenOutput, ...]:
        """One output for each prompt, in order; row `i` draws with `sampling.seed + i`.

        A prompt's output does not depend on its neighbours but for rounding. Raises InfraError for a prompt
        that leaves no room in the context, UsageError for an empty one or for sampling that makes no sense.
        """
        ...
