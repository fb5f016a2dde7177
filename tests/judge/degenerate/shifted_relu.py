"""An activation that sees nothing but negative numbers.

Finds: degenerate: zeros pass: the output
"""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        return torch.relu(self.linear(x) - 9.0)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(16, 64)]
