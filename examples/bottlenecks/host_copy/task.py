"""Rows over their root mean square. Its program lets the host compute the factors."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """y = x / sqrt(mean(x^2) + eps), over the last dimension."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + 1e-6)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(max(1, int(16384 * SCALE)), 2048)]
