"""A product with a row that comes as a view expanded over all rows: its stride is 0."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """tanh(x) row."""

    def forward(self, x: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x) * row


def get_init_inputs() -> list[int]:
    return []


def get_inputs() -> list[torch.Tensor]:
    rows = 1 + int(32768 * SCALE)
    return [torch.randn(rows, 1000), torch.randn(1, 1000).expand(rows, 1000)]
