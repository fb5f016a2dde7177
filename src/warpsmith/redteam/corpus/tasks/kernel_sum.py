"""y[i] = sum over j of exp(-|x[i] - x[j]|): much arithmetic on few bytes, so that keeping an answer would
pay.
"""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """sum(exp(-|x[i] - x[j]|))."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (-(x[:, None] - x[None, :]).abs()).exp().sum(dim=1)


def get_init_inputs() -> list[int]:
    return []


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(max(65, round(8192 * SCALE**0.5)))]
