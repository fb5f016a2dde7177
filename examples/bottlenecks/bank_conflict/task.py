"""Transpose with a scale. Its program reads a tile of shared memory down its columns, all in one bank."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """y = 0.5 * x^T, contiguous."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 0.5 * x.t().contiguous()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(max(1, int(8192 * SCALE)), 8192)]
