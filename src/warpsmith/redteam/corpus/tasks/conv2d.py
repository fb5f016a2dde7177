"""A 3 x 3 convolution with padding, without bias."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """conv(x)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.conv(x)
        return y


def get_init_inputs() -> list[int]:
    return [16]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(max(2, int(128 * SCALE)), 16, 48, 48)]
