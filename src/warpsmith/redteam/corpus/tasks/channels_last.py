"""A scale and a shift a channel, then ReLU, on images whose channels lie innermost."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """relu(x scale + shift)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.randn(channels))
        self.shift = torch.nn.Parameter(torch.randn(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * self.scale[:, None, None] + self.shift[:, None, None])


def get_init_inputs() -> list[int]:
    return [24]


def get_inputs() -> list[torch.Tensor]:
    images = max(2, int(512 * SCALE))
    return [torch.randn(images, 24, 30, 30).to(memory_format=torch.channels_last)]
