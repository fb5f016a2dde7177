"""Replies as they grow, a row each."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from warpsmith.core import InfraError, UsageError
from warpsmith.policy.base import Sampling
from warpsmith.policy.local.drawing import generator
from warpsmith.policy.local.tokens import TokenOutput


@dataclass(slots=True, kw_only=True, eq=False)
class Row:
    """One prompt's continuation."""

    prompt: tuple[int, ...]
    limit: int
    chance: torch.Generator
    stop_ids: frozenset[int]
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def is_cut(self) -> bool:
        """Until it ends by itself."""
        return not self.ids or self.ids[-1] not in self.stop_ids

    @property
    def is_alive(self) -> bool:
        return self.is_cut and len(self.ids) < self.limit

    def note(self, ids: Sequence[int], logprobs: Sequence[float]) -> None:
        self.ids.extend(ids)
        self.logprobs.extend(logprobs)

    def output(self) -> TokenOutput:
        return TokenOutput(ids=tuple(self.ids), logprobs=tuple(self.logprobs), is_cut=self.is_cut)


def rows_of(
    prompts: Sequence[Sequence[int]], sampling: Sampling, context_tokens: int, stop_ids: frozenset[int]
) -> list[Row]:
    """Raises UsageError and InfraError as TokenPolicy.generate does."""
    rows = []
    for number, ids in enumerate(prompts):
        room = context_tokens - len(ids)
        if not ids or sampling.max_tokens < 1:
            raise UsageError(f"nothing to do: {len(ids)} tokens of prompt, {sampling.max_tokens} to draw")
        if room < 1:
            raise InfraError(f"{len(ids)} tokens of prompt leave no room in a context of {context_tokens}")
        rows.append(
            Row(
                prompt=tuple(ids),
                limit=min(sampling.max_tokens, room),
                chance=generator(sampling.seed, number),
                stop_ids=stop_ids,
            )
        )
    return rows
