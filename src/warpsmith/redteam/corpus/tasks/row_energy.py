"""The sum of squares of each row: one number a row."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """sum(x^2)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.square().sum(dim=-1)


def get_init_inputs() -> list[int]:
    return []


def get_inputs() -> list[torch.Tensor]:
    rows = 1 + int(65536 * SCALE)
    return [torch.randn(rows, 1) * torch.randn(rows, 1000)]
