"""Scale and shift of a matrix. Its program walks down the columns, so that no two lanes read neighbours."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """y = 1.5 * x + 0.25."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 1.5 * x + 0.25


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(max(1, int(8192 * SCALE)), 8192)]
