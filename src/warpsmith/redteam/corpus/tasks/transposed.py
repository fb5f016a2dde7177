"""A scaled matrix, returned as the transposed view of it."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """(3 x)^T."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (3 * x).t()


def get_init_inputs() -> list[int]:
    return []


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(1 + int(32768 * SCALE), 500)]
