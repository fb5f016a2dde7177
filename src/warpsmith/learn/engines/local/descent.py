"""An optimiser's step over a batch that comes in parts."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from warpsmith.learn.config import DescentConfig


class Descent:
    """AdamW over a model's weights. A gradient that is not finite is thrown away, and told."""

    def __init__(self, model: Any, config: DescentConfig) -> None:
        self._config = config
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.optimiser = torch.optim.AdamW(
            self._parameters, lr=config.lr, betas=config.betas, weight_decay=config.weight_decay
        )
        self.num_steps = 0

    @property
    def lr(self) -> float:
        """Of the next step."""
        rise = (
            min(1.0, (self.num_steps + 1) / self._config.warmup_steps) if self._config.warmup_steps else 1.0
        )
        return self._config.lr * rise

    def step(self, losses: Iterable[Tensor]) -> tuple[float, float]:
        """(sum of the losses, norm of their gradient before it was cut), after one step down.

        Each loss is let go of before the next is computed.
        """
        total = 0.0
        self.optimiser.zero_grad(set_to_none=True)
        for loss in losses:
            loss.backward()
            total += float(loss.detach())
        norm = float(torch.nn.utils.clip_grad_norm_(self._parameters, self._config.max_grad_norm))
        if math.isfinite(norm) and math.isfinite(total):
            for group in self.optimiser.param_groups:
                group["lr"] = self.lr
            self.optimiser.step()
            self.num_steps += 1
        self.optimiser.zero_grad(set_to_none=True)
        return total, norm

    def state(self) -> dict[str, Any]:
        return {"optimiser": self.optimiser.state_dict(), "num_steps": self.num_steps}

    def load(self, state: dict[str, Any]) -> None:
        self.optimiser.load_state_dict(state["optimiser"])
        self.num_steps = int(state["num_steps"])
