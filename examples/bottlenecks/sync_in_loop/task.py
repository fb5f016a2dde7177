"""A pointwise map over 32 chunks. Its program waits for the device after each of them."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """y = x / (1 + |x|)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / (1.0 + x.abs())


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(32, max(1, int(1048576 * SCALE)))]
