"""GELU by its tanh formula. Its program writes constants without f and calls tanh: all of it is double."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """y = gelu(x), by tanh."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x, approximate="tanh")


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(max(1, int(8192 * SCALE)), 8192)]
