"""Two LSTM layers over a sequence, and a linear layer on the last state: a classifier of sequences.

Where: speech and text models before transformers, time series, recurrent parts of reinforcement learning.
Each step depends on the one before, so that time goes by launches and by reading the recurrent weights again;
what a step's input adds can be computed for all steps at once.
At SCALE 1: x is f32[64,256,512], the state 1024 wide. Steps scale with SCALE, widths with its root.
Least traffic: 92775824 bytes (x read once, y written once, all weights once).
Least arithmetic: 481049444352 FLOP in products, in as many steps as the sequence has.
"""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """y = linear(last state of lstm(lstm(x)))."""

    def __init__(self, width: int, state: int, classes: int) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(width, state, num_layers=2, batch_first=True)
        self.head = torch.nn.Linear(state, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(x)
        return self.head(states[:, -1])


def _width() -> int:
    return 16 * max(1, round(32 * SCALE**0.5))


def get_init_inputs():
    return [_width(), 2 * _width(), 100]


def get_inputs():
    steps = max(4, round(256 * SCALE))
    return [torch.randn(64, steps, _width())]
