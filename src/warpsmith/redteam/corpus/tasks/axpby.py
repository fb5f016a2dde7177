"""y = relu(2.5 a - b): the least that a program can do with two inputs."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """relu(2.5 a - b)."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.relu(2.5 * a - b)


def get_init_inputs() -> list[int]:
    return []


def get_inputs() -> list[torch.Tensor]:
    rows = 1 + int(32768 * SCALE)
    return [torch.randn(rows, 1023), torch.randn(rows, 1023)]
