"""A low-rank adapter on a model that learns: put on, digested, and let back to where it began."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from warpsmith.core import EnvironmentMissing, UsageError
from warpsmith.learn.config import LoraConfig
from warpsmith.policy.local import adapter

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def adapted(model: Any, lora: LoraConfig | None, *, seed: int, base: Path | None = None) -> None:
    """Let `model` learn by an adapter alone; without `lora`, as a whole. A critic's head is trained whole.

    A model that was read from an adapter goes on with it.

    Raises:
        UsageError: the model has an adapter of another size, or one that is not asked for; no such layers.
        EnvironmentMissing: the extra `lora` is not installed.
    """
    if lora is None:
        if adapter.is_attached(model):
            raise UsageError("the model is an adapter; train it by one, or write it merged first")
        return
    missing = [name for name in adapter.PACKAGES if find_spec(name) is None]
    if missing:
        raise EnvironmentMissing(f"{', '.join(missing)} not installed; pip install 'warpsmith[lora]'")
    if adapter.is_attached(model):
        _check_alike(model.peft_config[adapter.NAME], lora)
    else:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            adapter.attach(model, _config(model, lora, base))
    for parameter in model.parameters():  # not the buffers: positions need theirs in float32
        if not parameter.requires_grad:
            parameter.data = parameter.data.to(DTYPES[lora.base_precision])


def base_digest(model: Any) -> str:
    """Of the frozen weights, the same on every device; empty for a model without an adapter."""
    if not adapter.is_attached(model):
        return ""
    total = 0
    for parameter in model.parameters():
        if not parameter.requires_grad:
            bits = {2: torch.int16, 4: torch.int32}[parameter.element_size()]
            total = (total * 1_000_003 + int(parameter.data.view(bits).sum(dtype=torch.int64))) % 2**61
    return f"{total:016x}"


class Beginning:
    """The values of an adapter as they are when this is made: a copy of 10 to 20 MB.

    Of an adapter that has learnt nothing they are those of the base alone.
    """

    def __init__(self, model: Any) -> None:
        self._trained = adapter.trained(model)
        self._values = [parameter.detach().clone() for parameter in self._trained]

    @contextmanager
    def back(self) -> Iterator[None]:
        """In this block the model is what it was; then, bit by bit, what it has become."""
        now = [parameter.detach().clone() for parameter in self._trained]
        self._put(self._values)
        try:
            yield
        finally:
            self._put(now)

    @torch.no_grad()
    def _put(self, values: list[Any]) -> None:
        for parameter, value in zip(self._trained, values, strict=True):
            parameter.copy_(value)


def _config(model: Any, lora: LoraConfig, base: Path | None) -> Any:
    from peft import LoraConfig as PeftLora

    heads = [name for name in ("score", "classifier") if hasattr(model, name)]
    return PeftLora(
        r=lora.rank,
        lora_alpha=lora.alpha,
        target_modules=list(lora.targets) or "all-linear",
        modules_to_save=heads or None,
        base_model_name_or_path=None if base is None else str(base),
    )


def _check_alike(held: Any, lora: LoraConfig) -> None:
    if (held.r, held.lora_alpha) != (lora.rank, lora.alpha):
        raise UsageError(
            f"the model's adapter has rank {held.r} and alpha {held.lora_alpha}, the configuration "
            f"{lora.rank} and {lora.alpha}"
        )
