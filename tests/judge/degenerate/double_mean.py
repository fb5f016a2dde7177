"""Takes the mean of what has one element.

Finds: suspicious: identity operator: mean
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        y = x.mean((2, 3), keepdim=True)
        return y.mean((2, 3), keepdim=True)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(4, 64, 8, 8)]
