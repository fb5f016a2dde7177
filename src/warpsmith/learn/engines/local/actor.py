"""What a policy's network says of tokens that were drawn."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from warpsmith.core import UsageError
from warpsmith.learn.config import MemoryConfig
from warpsmith.learn.engines.local.batch import Batch, parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """Of each drawn token, 0 elsewhere."""

    logprobs: Tensor  # [B, T]
    entropy: Tensor  # [B, T] of the distribution it was drawn from; without gradient


class Actor:
    """A causal language model whose logits never exist all at once.

    At 128k tokens and 152k words they would take 80 GB: they are computed for drawn tokens only, a chunk at a
    time, and again in the backward pass.
    """

    def __init__(self, model: Any, memory: MemoryConfig) -> None:
        """Raises UsageError for a model that changes the logits of its head, in whatever way."""
        self.model = model
        self._memory = memory
        self._body = model.base_model
        self._head = model.get_output_embeddings()
        prepare(model, memory)
        self._check_head()

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device  # type: ignore[no-any-return]

    def said(self, batch: Batch, *, temperature: float = 1.0) -> Said:
        """Under softmax(logits / temperature), as a sampler at that temperature tells them; greedy at 1."""
        chosen = batch.mask.bool()
        assert not bool(chosen[:, 0].any())  # nothing stands before the first token
        set_mode(self.model, self._memory)
        with precision_of(self._memory, self.device):
            hidden = self._body(input_ids=batch.ids, use_cache=False).last_hidden_state  # [B, T, H]
        before = hidden[:, :-1][chosen[:, 1:]]  # [N, H]
        targets = batch.ids[:, 1:][chosen[:, 1:]]  # [N]
        heat = temperature or 1.0
        told = [
            checkpoint(
                self._chunk, before[at : at + size], targets[at : at + size], heat, use_reentrant=False
            )
            for size in (self._memory.chunk_tokens,)
            for at in range(0, len(targets), size)
        ]
        logprobs, entropy = torch.zeros_like(batch.mask), torch.zeros_like(batch.mask)
        return Said(
            logprobs=logprobs.masked_scatter(chosen, torch.cat([one for one, _ in told])),
            entropy=entropy.masked_scatter(chosen, torch.cat([other for _, other in told])),
        )

    def _chunk(self, hidden: Tensor, targets: Tensor, heat: float) -> tuple[Tensor, Tensor]:
        with precision_of(self._memory, self.device):
            logits = self._head(hidden)
        logprobs = torch.log_softmax(logits.float() / heat, dim=-1)  # [n, V]
        with torch.no_grad():
            entropy = -(logprobs.exp() * logprobs).sum(dim=-1)
        return logprobs.gather(-1, targets[:, None])[:, 0], entropy

    @torch.no_grad()
    def _check_head(self) -> None:
        ids = torch.zeros((1, 2), dtype=torch.long, device=self.device)
        own = self._head(self._body(input_ids=ids, use_cache=False).last_hidden_state)
        if not torch.allclose(own.float(), self.model(input_ids=ids).logits.float(), atol=1e-3, rtol=1e-3):
            kind = type(self.model).__name__
            raise UsageError(
                f"{kind} changes the logits of its head (soft caps, scales); it cannot be trained here"
            )


def prepare(model: Any, memory: MemoryConfig) -> None:
    """In evaluation mode, without dropout: its log-probabilities would be others than were drawn with."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = 0.0
    if memory.is_checkpointed:
        renamed = getattr(model, "activation_checkpointing_enable", None)  # in 5.2x
        (renamed or model.gradient_checkpointing_enable)({"use_reentrant": False})
    model.eval()


def set_mode(model: Any, memory: MemoryConfig) -> None:
    """Layers are computed again in the backward pass only by a model that is told to train."""
    model.train(memory.is_checkpointed and torch.is_grad_enabled())


def precision_of(memory: MemoryConfig, device: torch.device) -> AbstractContextManager[Any]:
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=memory.precision == "bf16")


def in_parts(batch: Batch, memory: MemoryConfig, compute: Callable[[Batch], Tensor]) -> Tensor:  # [B, T]
    """`compute`, without gradient, over a whole batch in passes that fit."""
    found = torch.zeros_like(batch.mask)
    with torch.no_grad():
        for places in parts(batch.lengths, range(len(batch.lengths)), memory.micro_tokens):
            part = batch.rows(places)
            found[torch.tensor(places, device=found.device), : part.ids.shape[1]] = compute(part)
    return found
