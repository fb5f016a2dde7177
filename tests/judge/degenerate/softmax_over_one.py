"""A softmax over a dimension of size one.

Finds: suspicious: constant operator: _softmax
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        weights = torch.softmax(x.sum(1, keepdim=True), dim=1)
        return x.sin() * weights


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(128, 64)]
