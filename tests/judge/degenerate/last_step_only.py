"""Computes on all steps and returns the last.

Finds: suspicious: dead part of an input: input x
"""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        return self.linear(x)[:, -1].sin()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(4, 8, 64)]
