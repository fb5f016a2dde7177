"""Leaves the range of half precision.

Finds: note: fails in another dtype: float16
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return (x * 1e6).sin() + x * 1e6


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
