"""y = a sigmoid(b): elementwise, and with gradients that differ by input."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """a sigmoid(b)."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a * torch.sigmoid(b)


def get_init_inputs() -> list[int]:
    return []


def get_inputs() -> list[torch.Tensor]:
    rows = 1 + int(32768 * SCALE)
    return [torch.randn(rows, 1000), torch.randn(rows, 1000)]
