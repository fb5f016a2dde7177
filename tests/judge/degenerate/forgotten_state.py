"""An initial state that a long recurrence forgets.

Finds: suspicious: dead input: input state
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x, state):
        for step in x:
            state = 0.1 * state + step
        return state


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(32, 64), torch.randn(64)]
