"""Linear, ReLU, Linear: the feed-forward block of the original transformer, in full fp32.

Where: every block of OPT, T5 v1.0 and the original transformer; also plain multi-layer perceptrons.
The products dominate, so what decides is how fast an fp32-accurate product can be made.
At SCALE 1: x is f32[8192,4096], the hidden layer 16384 wide. Rows scale with SCALE, widths with its root.
Least traffic: 805388288 bytes (x read once, y written once, both weights and biases).
Least arithmetic: 2199023255552 FLOP in matrix products; arithmetic decides.
"""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """y = linear(relu(linear(x)))."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.up = torch.nn.Linear(width, hidden)
        self.down = torch.nn.Linear(hidden, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(torch.relu(self.up(x)))


def _width() -> int:
    return 16 * max(1, round(256 * SCALE**0.5))


def get_init_inputs():
    return [_width(), 4 * _width()]


def get_inputs():
    rows = max(1, int(8192 * SCALE))
    return [torch.randn(rows, _width())]
