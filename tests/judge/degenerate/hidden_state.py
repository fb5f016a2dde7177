"""Stores a state that its answer does not depend on.

Finds: suspicious: keeps state: state
"""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.state = torch.zeros(64)

    def forward(self, x):
        self.state = x[0].clone()
        return x.sin()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
