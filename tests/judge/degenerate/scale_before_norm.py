"""A factor that the norm after it divides away.

Finds: suspicious: redundant operator: mul
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.layer_norm(x * 4.0, (64,), eps=0.0)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
