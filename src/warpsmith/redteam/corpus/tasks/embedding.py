"""Rows of a table by integer index, scaled."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """1.5 table[index]."""

    def __init__(self, entries: int, width: int) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(entries, width))

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        return 1.5 * self.table[index]


def get_init_inputs() -> list[int]:
    return [5000, 256]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, 5000, (1 + int(65536 * SCALE),))]
