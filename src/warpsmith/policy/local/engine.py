"""A transformers model that continues token ids: one plain loop with a key-value cache."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from warpsmith.core import InfraError, UsageError
from warpsmith.policy.base import Sampling
from warpsmith.policy.local.drawing import Drawing, draw, drawing_of, generator, uniforms
from warpsmith.policy.local.tokens import TokenOutput


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


@dataclass(slots=True, kw_only=True)
class _Row:
    """One prompt's continuation as it grows."""

    limit: int
    chance: torch.Generator
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    is_alive: bool = True
    is_cut: bool = True  # until it ends by itself


class Engine:
    """A TokenPolicy. Not for two threads at once: whoever shares a model takes turns."""

    def __init__(self, model: Any, *, stop_ids: frozenset[int], context_tokens: int) -> None:
        self._model = model
        self._stop_ids = stop_ids
        self._context_tokens = context_tokens
        parameters = signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in parameters else "past_key_values"  # renamed in 5.2x
        self._keep = {"logits_to_keep": 1} if "logits_to_keep" in parameters else {}  # else a [T, V] tensor

    @torch.inference_mode()
    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        sampling: Sampling,
        *,
        prefix: Prefix | None = None,
        is_late: Callable[[], bool] = lambda: False,
    ) -> tuple[TokenOutput, ...]:
        """See TokenPolicy. A single prompt reads on from `prefix` and leaves there what it has read.

        `is_late` is asked after each token; once it says so, all that are unfinished are cut.
        """
        rows = [self._row(number, ids, sampling) for number, ids in enumerate(prompts)]
        if not rows:
            return ()
        drawing = drawing_of(sampling, self._model.generation_config)
        if len(rows) > 1 or prefix is None:
            prefix = Prefix()
        self._run(_Batch(prompts, self._model.device), rows, drawing, prefix, is_late)
        return tuple(
            TokenOutput(ids=tuple(row.ids), logprobs=tuple(row.logprobs), is_cut=row.is_cut) for row in rows
        )

    def _row(self, number: int, ids: Sequence[int], sampling: Sampling) -> _Row:
        room = self._context_tokens - len(ids)
        if not ids or sampling.max_tokens < 1:
            raise UsageError(f"nothing to do: {len(ids)} tokens of prompt, {sampling.max_tokens} to draw")
        if room < 1:
            raise InfraError(
                f"{len(ids)} tokens of prompt leave no room in a context of {self._context_tokens}"
            )
        return _Row(limit=min(sampling.max_tokens, room), chance=generator(sampling.seed, number))

    def _run(
        self, batch: "_Batch", rows: list[_Row], drawing: Drawing, prefix: Prefix, is_late: Callable[[], bool]
    ) -> None:
        cache = prefix.taken(batch.ids[0].tolist()) if batch.is_single else None
        known = 0 if cache is None else cache.get_seq_length()
        logits, cache = self._forward(batch.ids[:, known:], batch, cache)
        running = rows
        while True:
            drawn, logprobs = draw(logits, drawing, uniforms([row.chance for row in running]))
            self._note(running, drawn.tolist(), logprobs.tolist())
            if is_late() or not any(row.is_alive for row in running):
                break
            alive = [place for place, row in enumerate(running) if row.is_alive]
            if len(alive) * 2 <= len(
                running
            ):  # copying the cache costs; reading on for the finished ones too
                chosen = torch.tensor(alive, device=drawn.device)
                cache.batch_select_indices(chosen)
                batch.select(chosen)
                drawn, running = drawn[chosen], [running[place] for place in alive]
            batch.append(drawn)
            logits, cache = self._forward(drawn[:, None], batch, cache)
        if batch.is_single:
            prefix.ids, prefix.cache = batch.ids[0].tolist(), cache

    def _note(self, rows: list[_Row], ids: list[int], logprobs: list[float]) -> None:
        for row, token, logprob in zip(rows, ids, logprobs, strict=True):
            if not row.is_alive:
                continue
            row.ids.append(token)
            row.logprobs.append(logprob)
            row.is_cut = token not in self._stop_ids
            row.is_alive = row.is_cut and len(row.ids) < row.limit

    def _forward(self, ids: Tensor, batch: "_Batch", cache: Any) -> tuple[Tensor, Any]:
        """(the last position's logits [B, V], the cache)."""
        told = {self._cache_name: cache, **self._keep, **batch.places(ids.shape[1])}
        out = self._model(input_ids=ids, use_cache=True, **told)
        return out.logits[:, -1], getattr(out, self._cache_name)


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
