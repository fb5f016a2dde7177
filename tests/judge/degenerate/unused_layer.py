"""Makes a layer and never calls it.

Finds: suspicious: dead parameter: parameter projection.weight, projection.bias
"""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)
        self.projection = nn.Linear(64, 64)

    def forward(self, x):
        return self.linear(x)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
