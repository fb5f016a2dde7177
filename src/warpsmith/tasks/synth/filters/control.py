"""A task that is known to be good: if it does not come through, the filter is broken and not the tasks."""

from warpsmith.core import Task

SOURCE = """import torch
from torch import nn

ROWS, COLS = 64, 96


class Model(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(cols, cols) / cols**0.5)

    def forward(self, x):
        return torch.relu(x @ self.weight)


def get_init_inputs():
    return [COLS]


def get_inputs():
    return [torch.randn(ROWS, COLS)]
"""

CONTROL = Task(task_id="control", source=SOURCE, provenance="warpsmith's own")
