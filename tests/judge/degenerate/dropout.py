"""Drops at random in train mode.

Finds: note: depends on the mode: drop
"""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(x).sin()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
