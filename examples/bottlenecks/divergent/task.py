"""A map that is applied once to most columns, and 64 times to every 32nd: one lane of each warp works on."""

import torch

SCALE = 1.0
STEPS = 64


class Model(torch.nn.Module):
    """z -> tanh(z + x), from z = 0: 64 times in columns 0, 32, 64 ..., once in all others."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.tanh(x)
        some = x[:, ::32]
        z = y[:, ::32]
        for _ in range(STEPS - 1):
            z = torch.tanh(z + some)
        y = y.clone()
        y[:, ::32] = z
        return y


def get_init_inputs():
    return []


def get_inputs():
    return [0.5 * torch.randn(max(1, int(4096 * SCALE)), 8192)]
