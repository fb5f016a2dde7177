"""Linear with bias, then ReLU."""

import math

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """relu(linear(x))."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
        torch.nn.init.normal_(self.linear.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


def _width() -> int:
    return 16 * max(2, round(64 * math.sqrt(SCALE)))


def get_init_inputs() -> list[int]:
    return [_width()]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(max(5, int(4096 * SCALE)), _width())]
