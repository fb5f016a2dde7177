"""Token ids in, token ids out: what training needs of a model, whatever runs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from warpsmith.core import UsageError
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingConfig:
    """What drawing many replies at once may take. It changes speed and memory, and results by rounding."""

    max_rows: int = 256  # that are drawn at once; the others wait until one has ended
    cache_bytes: int = 24 * 2**30  # of keys and values; fewer rows are drawn at once if they don't fit
    chunk_tokens: int = 65_536  # of prompts, that are read in one pass
    bucket_tokens: int = 256  # attended lengths are multiples of it: each is captured once
    steps_per_check: int = 16  # between two looks at what has ended, for which the device is waited for
    is_captured: bool = True  # as CUDA graphs, on a GPU
    is_kept: bool = True  # the cache's memory, and what was captured, from one use to the next

    def __post_init__(self) -> None:
        counts = (self.max_rows, self.chunk_tokens, self.bucket_tokens, self.steps_per_check)
        if min(*counts, self.cache_bytes) < 1:
            raise UsageError("a decoding's rows, bytes, tokens and steps must be 1 or more")


class TokenPolicy(Protocol):
    """Continues prompts of token ids."""

    def generate(self, prompts: Sequence[Sequence[int]], sampling: Sampling) -> tuple[TokenOutput, ...]:
        """One output for each prompt, in order; row `i` draws with `sampling.seed + i`.

        A prompt's output does not depend on its neighbours but for rounding. Raises InfraError for a prompt
        that leaves no room in the context, UsageError for an empty one or for sampling that makes no sense.
        """
        ...
