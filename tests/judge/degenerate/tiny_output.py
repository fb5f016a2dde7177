"""So small everywhere that an absolute tolerance cannot see it.

Finds: suspicious: blind under a fixed tolerance: the output
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x * 0.1, dim=-1) * 1e-3


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
