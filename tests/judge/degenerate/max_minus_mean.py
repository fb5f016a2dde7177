"""A maximum over all columns, minus its own mean: a column of zeros.

Finds: degenerate: zeros pass: the output
"""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        y = self.linear(x).amax(1, keepdim=True)
        return torch.nn.functional.gelu(y - y.mean(1, keepdim=True))


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
