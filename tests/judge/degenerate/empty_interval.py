"""A clamp whose lower bound is its upper one.

Finds: suspicious: constant operator: clamp
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.clamp(0.5, 0.5) + 0.001 * x


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
