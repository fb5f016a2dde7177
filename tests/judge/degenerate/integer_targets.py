"""Takes class indices that must stay integers.

Finds: note: fails in another dtype: integer inputs
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x, targets):
        return torch.nn.functional.cross_entropy(x, targets, reduction="none")


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(16, 64), torch.randint(0, 64, (16,))]
