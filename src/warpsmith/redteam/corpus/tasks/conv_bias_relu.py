"""A 3 x 3 convolution with bias, then ReLU."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """relu(conv(x))."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(channels, channels, 3, padding=1)
        self.conv.bias = torch.nn.Parameter(torch.randn(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.conv(x))


def get_init_inputs() -> list[int]:
    return [16]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(max(2, int(128 * SCALE)), 16, 40, 40)]
