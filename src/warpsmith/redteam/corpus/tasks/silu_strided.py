"""SiLU of a matrix that comes transposed, so that it is not contiguous."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """x sigmoid(x)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.silu(x)


def get_init_inputs() -> list[int]:
    return []


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(999, 1 + int(32768 * SCALE)).t()]
