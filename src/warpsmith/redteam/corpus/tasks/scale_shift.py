"""A tensor, scaled and shifted by numbers that are given as Python's own."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """scale x + shift."""

    def forward(self, x: torch.Tensor, scale: float, shift: int) -> torch.Tensor:
        return scale * x + shift


def get_init_inputs() -> list[int]:
    return []


def get_inputs() -> list[object]:
    return [torch.randn(1 + int(32768 * SCALE), 1000), 0.75, 3]
