"""Scales by a positive temperature and returns that as well: it depends on a parameter alone."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """x softplus(raw), softplus(raw)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.raw = torch.nn.Parameter(torch.randn(width))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        temperature = torch.nn.functional.softplus(self.raw)
        return x * temperature, temperature


def get_init_inputs() -> list[int]:
    return [640]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(1 + int(32768 * SCALE), 640)]
