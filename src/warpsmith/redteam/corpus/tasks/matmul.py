"""A product of two square matrices in full fp32."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """a @ b."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_init_inputs() -> list[int]:
    return []


def get_inputs() -> list[torch.Tensor]:
    size = 16 * max(2, round(96 * SCALE**0.5))
    return [torch.randn(size, size), torch.randn(size, size)]
