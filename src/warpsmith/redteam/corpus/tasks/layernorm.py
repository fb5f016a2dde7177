"""LayerNorm over rows, with weight and bias."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """weight * (x - mean) / sqrt(var + 1e-5) + bias."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(1 + 0.3 * torch.randn(width))
        self.bias = torch.nn.Parameter(torch.randn(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-5)


def get_init_inputs() -> list[int]:
    return [1000]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(1 + int(32768 * SCALE), 1000) + 0.5]
