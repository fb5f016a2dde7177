"""Keeps a tensor for the first state, and gets it as an input.

Finds: suspicious: dead parameter: attribute first
"""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.randn(64)

    def forward(self, x, first):
        return (x + first).sin()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64), torch.randn(64)]
