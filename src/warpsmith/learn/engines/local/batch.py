"""Samples side by side, the shorter ones filled up on the right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from warpsmith.learn.trajectory.nouns import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """B samples of up to T tokens. No attention mask: nothing real comes after what fills up."""

    ids: Tensor  # [B, T]
    mask: Tensor  # [B, T] float, 1 on drawn tokens
    lengths: tuple[int, ...]  # [B]

    @classmethod
    def of(cls, samples: Sequence[Sample], device: torch.device) -> Self:
        width = max(len(sample.ids) for sample in samples)
        ids = torch.zeros((len(samples), width), dtype=torch.long)
        mask = torch.zeros((len(samples), width))
        for row, sample in enumerate(samples):
            ids[row, : len(sample.ids)] = torch.tensor(sample.ids)
            mask[row, : len(sample.ids)] = torch.tensor(sample.mask, dtype=torch.float32)
        return cls(ids=ids.to(device), mask=mask.to(device), lengths=tuple(len(s.ids) for s in samples))

    def rows(self, places: Sequence[int]) -> Self:
        """Some of the samples, as narrow as they allow."""
        width = max(self.lengths[place] for place in places)
        chosen = torch.tensor(places, device=self.ids.device)
        return type(self)(
            ids=self.ids[chosen, :width],
            mask=self.mask[chosen, :width],
            lengths=tuple(self.lengths[place] for place in places),
        )


def rows_of(tensor: Tensor, places: Sequence[int], like: Batch) -> Tensor:  # [b, t]
    """Of a [B, T] tensor the part that belongs to `Batch.rows(places)`."""
    return tensor[torch.tensor(places, device=tensor.device), : like.ids.shape[1]]


def drawn_logprobs(samples: Sequence[Sample], like: Batch) -> Tensor | None:  # [B, T]
    """The log-probabilities that the tokens were drawn with, 0 elsewhere; None if a sample has none."""
    found = torch.zeros_like(like.mask)
    for row, sample in enumerate(samples):
        logprobs = sample.logprobs
        if logprobs is None:
            return None
        found[row, : len(logprobs)] = torch.tensor(logprobs, device=found.device)
    return found


def last_rewards(rewards: Sequence[float], like: Batch) -> Tensor:  # [B, T]
    """Each sample's reward on its last token, which is a drawn one."""
    found = torch.zeros_like(like.mask)
    for row, reward in enumerate(rewards):
        found[row, like.lengths[row] - 1] = reward
    return found


def parts(lengths: Sequence[int], places: Sequence[int], max_tokens: int) -> list[list[int]]:
    """`places` in passes of at most `max_tokens` tokens, filling included; alike lengths go together."""
    found: list[list[int]] = []
    for place in sorted(places, key=lambda place: (lengths[place], place)):
        if found and (len(found[-1]) + 1) * lengths[place] <= max_tokens:
            found[-1].append(place)
        else:
            found.append([place])
    return found
