"""The candidate's model, called as its task asks, and what it does to torch's settings."""

from typing import Any

import torch

from warpsmith.judge import flags
from warpsmith.judge.calls import Call, Caller, cast_model
from warpsmith.judge.protocol import Load


class Settings:
    """torch's settings as they were before any of the candidate's code ran.

    A setting that is put back before the call returns is not found: what it did shows in the numbers. One
    that stays is refused, because it decides how the rest of the process computes, and how fast.
    """

    def __init__(self, request: Load) -> None:
        self._precision = request.regime.precision
        flags.pin(self._precision, request.device)
        self._before = flags.snapshot()

    def flipped(self) -> tuple[str, ...]:
        return flags.flipped(self._before, self._precision)


class Program:
    """What the guest calls. Takes the model as the candidate constructed it, without weights yet."""

    def __init__(self, model: torch.nn.Module, request: Load) -> None:
        self.model = cast_model(model.to(request.device), request.regime.dtype)
        self._regime = request.regime
        self._caller: Caller

    def take(self, weights: dict[str, torch.Tensor]) -> None:
        """Copy the reference's weights, whose names and shapes are the model's own."""
        self.model.load_state_dict(weights)
        self._caller = Caller(self.model, self._regime)

    def begin(self, given: list[Any]) -> Call:
        return self._caller.begin(given)

    def timed(self, given: list[Any]) -> Any:
        return self._caller.timed(given)

    def fixed(self) -> dict[str, torch.Tensor]:
        """What forward must leave as it is: everything in eval mode, parameters in train mode."""
        kept = self.model.state_dict()
        if not self._regime.is_training:
            return kept
        return {name: tensor for name, tensor in kept.items() if name not in self._caller.buffers()}
