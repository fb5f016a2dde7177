"""Counts its calls, and answers accordingly.

Finds: degenerate: keeps state: forward
"""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x.sin() * self.calls


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
