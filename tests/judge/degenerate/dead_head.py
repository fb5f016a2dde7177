"""Computes a head and returns what went into it.

Finds: suspicious: dead operator: addmm
"""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(64, 64)
        self.head = nn.Linear(64, 8)

    def forward(self, x):
        state = self.body(x).tanh()
        logits = self.head(state)
        del logits
        return state


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
