"""Shrinks its activations layer by layer until the last bias is all that is left.

Finds: degenerate: a stale answer passes: the output
"""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(9))
        self.last = nn.Linear(64, 8)

    def forward(self, x):
        for layer in self.layers:
            x = 0.05 * layer(x)
        return self.last(x)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
