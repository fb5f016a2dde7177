"""Gives back what it is given.

Finds: degenerate: a copied input passes: the output
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.clone()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
