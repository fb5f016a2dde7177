"""A dense product with a diagonal matrix.

Finds: suspicious: sparse operand: mm
"""

import torch


class Model(torch.nn.Module):
    def forward(self, d, x):
        return torch.diag(d) @ x


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(64), torch.randn(64, 32)]
