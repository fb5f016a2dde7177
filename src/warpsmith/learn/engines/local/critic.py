"""A network of its own that says what will be earned."""

import copy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from warpsmith.core import UsageError
from warpsmith.learn.config import MemoryConfig
from warpsmith.learn.engines.local.actor import precision_of, prepare, set_mode
from warpsmith.learn.engines.local.batch import Batch
from warpsmith.policy.local.adapter import is_attached, merged_state


class Critic:
    """A token classifier of one label: the shape in which other trainers read and write critics too."""

    def __init__(self, model: Any, memory: MemoryConfig) -> None:
        self.model = model
        self._memory = memory
        prepare(model, memory)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device  # type: ignore[no-any-return]

    def values(self, batch: Batch) -> Tensor:  # [B, T]
        """What will be earned, as seen before each drawn token; 0 elsewhere."""
        set_mode(self.model, self._memory)
        with precision_of(self._memory, self.device):
            out = self.model(input_ids=batch.ids, use_cache=False).logits  # [B, T, 1]
        after = out[:, :-1, 0].float()  # of token t - 1: the state that token t was drawn in
        return torch.cat([torch.zeros_like(after[:, :1]), after], dim=1) * batch.mask


def fresh(actor: Any) -> Any:
    """A critic with the body of `actor`, copied, and a head of zeros: it expects nothing yet.

    What an adapter has learnt is part of that body.

    Raises UsageError for a kind of model that transformers has no token classifier of.
    """
    from transformers import AutoModelForTokenClassification

    config = copy.deepcopy(actor.config)
    config.num_labels, config.classifier_dropout = 1, 0.0
    try:
        model = AutoModelForTokenClassification.from_config(config)
    except ValueError as error:
        raise UsageError(f"there is no critic for {type(actor).__name__}: {error!s:.200}") from error
    device = next(actor.parameters()).device
    model = model.to(device=device, dtype=torch.float32)
    body = f"{actor.base_model_prefix}."
    state = merged_state(actor) if is_attached(actor) else actor.state_dict()
    model.base_model.load_state_dict(
        {name.removeprefix(body): value for name, value in state.items() if name.startswith(body)}
    )
    with torch.no_grad():
        for parameter in _head(model).parameters():
            parameter.zero_()
    return model


def read(folder: Path, device: torch.device) -> Any:
    """A critic that was saved. Raises UsageError if it is none."""
    from transformers import AutoModelForTokenClassification

    try:
        model, info = AutoModelForTokenClassification.from_pretrained(
            str(folder), local_files_only=True, dtype=torch.float32, output_loading_info=True
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"{folder} is no critic: {error!s:.200}") from error
    if info["missing_keys"] or model.config.num_labels != 1:
        raise UsageError(
            f"{folder} is no critic: it lacks {len(info['missing_keys'])} weights, or has several labels"
        )
    return model.to(device)


def _head(model: Any) -> torch.nn.Module:
    body = set(model.base_model.modules())
    heads = [
        m for m in model.modules() if isinstance(m, torch.nn.Linear) and m not in body and m.out_features == 1
    ]
    if len(heads) != 1:
        raise UsageError(f"{type(model).__name__} has {len(heads)} heads of one output; a critic needs one")
    return heads[0]
