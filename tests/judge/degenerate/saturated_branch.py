"""A branch whose values drown in a larger one.

Finds: suspicious: cancelled operator: sin
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 1e6 + x.sin() * 1e-3


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
