"""Writes to its input.

Finds: degenerate: changes its inputs: tensor 0
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.mul_(2.0).sin()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
