"""How a transformers model is asked for logits: the differences between its versions end here."""

from inspect import signature
from typing import Any

from torch import Tensor


class Reader:
    """A causal language model, asked for the last position's logits."""

    def __init__(self, model: Any) -> None:
        self.model = model
        parameters = signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in parameters else "past_key_values"  # renamed in 5.2x
        self._keep = {"logits_to_keep": 1} if "logits_to_keep" in parameters else {}  # else a [T, V] tensor

    def logits(self, ids: Tensor, cache: Any, **places: Tensor) -> tuple[Tensor, Any]:
        """(the last position's logits [B, V], the cache) after `ids` [B, T]."""
        told = {self._cache_name: cache, **self._keep, **places}
        out = self.model(input_ids=ids, use_cache=True, **told)
        return out.logits[:, -1], getattr(out, self._cache_name)

    def read(self, ids: Tensor, cache: Any, **places: Tensor | None) -> None:
        """Fill the cache alone: without the head, whose logits nobody wants."""
        self.model.base_model(input_ids=ids, use_cache=True, **{self._cache_name: cache}, **places)
