"""Two linear layers with ReLU between."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """second(relu(first(x)))."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.first = torch.nn.Linear(width, hidden)
        self.second = torch.nn.Linear(hidden, width)
        torch.nn.init.normal_(self.first.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.second(torch.relu(self.first(x)))
        return y


def get_init_inputs() -> list[int]:
    return [64, 96]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(max(5, int(8192 * SCALE)), 64)]
