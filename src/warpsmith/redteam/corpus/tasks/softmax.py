"""Softmax over rows."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """softmax(x)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=-1)


def get_init_inputs() -> list[int]:
    return []


def get_inputs() -> list[torch.Tensor]:
    return [2 * torch.randn(1 + int(32768 * SCALE), 1000)]
