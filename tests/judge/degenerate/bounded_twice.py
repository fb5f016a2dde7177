"""Clamps what a hyperbolic tangent has bounded already.

Finds: suspicious: identity operator: clamp
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x).clamp(-1.0, 1.0)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64)]
