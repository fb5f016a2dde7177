"""Subtracts large numbers that are nearly equal.

Finds: suspicious: ill-conditioned: the output
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return (x + 3e5) - 3e5 + 0.0 * x


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
