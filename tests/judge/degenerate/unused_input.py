"""Takes an input that it does not use.

Finds: suspicious: dead input: input scale
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x, scale):
        return x.sin()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64), torch.rand(64)]
