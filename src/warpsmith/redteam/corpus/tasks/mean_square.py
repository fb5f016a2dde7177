"""The mean of the squared difference: one number for all elements."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """mean((a - b)^2)."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (a - b).square().mean()


def get_init_inputs() -> list[int]:
    return []


def get_inputs() -> list[torch.Tensor]:
    rows = 1 + int(32768 * SCALE)
    return [torch.randn(rows, 1000), torch.randn(rows, 1000)]
