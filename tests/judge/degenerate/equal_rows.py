"""Broadcasts one row over the batch.

Finds: suspicious: equal slices: the output
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum(0, keepdim=True).expand(16, 64).sin()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
