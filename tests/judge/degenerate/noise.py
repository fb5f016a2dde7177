"""Adds noise in forward.

Finds: degenerate: random: forward
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
