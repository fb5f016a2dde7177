"""Elements where a boolean mask is set, doubled, and elsewhere -1."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """2 x where mask, else -1."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, 2 * x, -1.0)


def get_init_inputs() -> list[int]:
    return []


def get_inputs() -> list[torch.Tensor]:
    rows = 1 + int(32768 * SCALE)
    return [torch.randn(rows, 1000), torch.rand(rows, 1000) < 0.5]
