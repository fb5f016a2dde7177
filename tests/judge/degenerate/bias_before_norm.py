"""A bias that the norm after it takes away again.

Finds: suspicious: dead parameter: parameter bias
"""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(1))
        self.weight = nn.Parameter(torch.randn(64))

    def forward(self, x):
        y = x + self.bias
        return torch.nn.functional.layer_norm(y, (64,), self.weight)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
