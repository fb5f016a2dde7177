"""One plain loop with a cache that grows: for a conversation that reads on where it was, and any model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from warpsmith.policy.local.drawing import Drawing, check_finite, draw, uniforms
from warpsmith.policy.local.reading import Reader
from warpsmith.policy.local.rows import Row


@dataclass(slots=True, kw_only=True)
class Prefix:
    """The keys and values of what was read last. It goes stale when weights change: drop it then."""

    ids: list[int] = field(default_factory=list)
    cache: Any = None

    def taken(self, ids: Sequence[int]) -> Any:
        """The cache for as much of `ids` as it holds, which is forgotten here; None if nothing can be kept.

        The last id is always left to be read: its logits are what the next token is drawn from.
        """
        cache, known = self.cache, self.ids
        self.cache, self.ids = None, []
        if cache is None:
            return None
        pairs = zip(known, ids[:-1], strict=False)
        common = next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(known), len(ids) - 1))
        is_plain = all(type(layer).__name__ == "DynamicLayer" for layer in cache.layers)
        if common == 0 or (common < len(known) and not is_plain):  # a sliding window can't be taken back
            return None
        if common < len(known):
            cache.crop(common - len(known))
        return cache


def run(
    reader: Reader, rows: Sequence[Row], drawing: Drawing, prefix: Prefix, is_late: Callable[[], bool]
) -> None:
    """Draw all `rows` to their ends. A single one reads on from `prefix`, and leaves there what it read."""
    batch = _Batch([row.prompt for row in rows], reader.model.device)
    cache = prefix.taken(batch.ids[0].tolist()) if batch.is_single else None
    known = 0 if cache is None else cache.get_seq_length()
    logits, cache = reader.logits(batch.ids[:, known:], cache, **batch.places(batch.ids.shape[1] - known))
    running = list(rows)
    while True:
        drawn, logprobs = draw(logits, drawing, torch.cat([uniforms(row.chance, 1) for row in running]))
        check_finite(logprobs)
        for row, token, logprob in zip(running, drawn.tolist(), logprobs.tolist(), strict=True):
            if row.is_alive:
                row.note([token], [logprob])
        if is_late() or not any(row.is_alive for row in running):
            break
        alive = [place for place, row in enumerate(running) if row.is_alive]
        if len(alive) * 2 <= len(running):  # copying the cache costs; so does reading on for the finished
            chosen = torch.tensor(alive, device=drawn.device)
            cache.batch_select_indices(chosen)
            batch.select(chosen)
            drawn, running = drawn[chosen], [running[place] for place in alive]
        batch.append(drawn)
        logits, cache = reader.logits(drawn[:, None], cache, **batch.places(1))
    if batch.is_single:
        prefix.ids, prefix.cache = batch.ids[0].tolist(), cache


class _Batch:
    """Prompts of several lengths side by side, the shorter ones filled up on the left."""

    def __init__(self, prompts: Sequence[Sequence[int]], device: torch.device) -> None:
        width = max(len(ids) for ids in prompts)
        self.is_single = len(prompts) == 1
        self._is_even = all(len(ids) == width for ids in prompts)
        self.ids = torch.tensor(
            [[0] * (width - len(ids)) + list(ids) for ids in prompts], device=device
        )  # [B, T]
        self._mask = torch.tensor(
            [[0] * (width - len(ids)) + [1] * len(ids) for ids in prompts], device=device
        )  # [B, T]

    def append(self, ids: Tensor) -> None:
        self.ids = torch.cat([self.ids, ids[:, None]], dim=1)
        self._mask = torch.cat([self._mask, torch.ones_like(ids)[:, None]], dim=1)

    def select(self, rows: Tensor) -> None:
        self.ids, self._mask = self.ids[rows], self._mask[rows]

    def places(self, num_new: int) -> dict[str, Tensor]:
        """Mask and positions of the newest; none if no row is filled up, which is faster."""
        if self._is_even:
            return {}
        positions = (self._mask.cumsum(dim=1) - 1).clamp(min=0)
        return {"attention_mask": self._mask, "position_ids": positions[:, -num_new:]}
