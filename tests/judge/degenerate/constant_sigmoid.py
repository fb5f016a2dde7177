"""Saturates far from zero: one number, whatever comes in.

Finds: degenerate: a constant passes: the output
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sigmoid(x + 100.0) * 3.0


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
