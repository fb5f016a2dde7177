"""An activation that never leaves the identity's range.

Finds: suspicious: identity operator: relu
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x).sqrt()


def get_init_inputs():
    return []


def get_inputs():
    return [torch.rand(16, 64)]
