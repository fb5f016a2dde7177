"""Draws its inputs from a generator of its own, with a fixed seed.

Finds: degenerate: fixed inputs: all inputs
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.sin()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64, generator=torch.Generator().manual_seed(0))]
