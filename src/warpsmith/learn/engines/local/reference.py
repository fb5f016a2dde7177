"""The model that training began with, which a policy is not to leave too far behind."""

import copy
from typing import Any

from torch import Tensor

from warpsmith.learn.config import MemoryConfig
from warpsmith.learn.engines.local.actor import Actor, in_parts
from warpsmith.learn.engines.local.batch import Batch
from warpsmith.learn.engines.local.lora import Beginning
from warpsmith.policy.local import adapter


class Reference:
    """As the actor is when this is made. Of an adapter only its values are kept, else a second model."""

    def __init__(self, actor: Actor, memory: MemoryConfig) -> None:
        self._memory = memory
        self._beginning: Beginning | None = None
        if adapter.is_attached(actor.model):
            self._beginning = Beginning(actor.model)
            self._actor = actor
        else:
            self._actor = Actor(_frozen(actor.model), memory)

    def logprobs(self, batch: Batch, temperature: float) -> Tensor:  # [B, T]
        if self._beginning is None:
            return self._said(batch, temperature)
        with self._beginning.back():
            return self._said(batch, temperature)

    def _said(self, batch: Batch, temperature: float) -> Tensor:
        return in_parts(
            batch, self._memory, lambda part: self._actor.said(part, temperature=temperature).logprobs
        )


def _frozen(model: Any) -> Any:
    twin = copy.deepcopy(model)
    for parameter in twin.parameters():
        parameter.requires_grad = False
    return twin
