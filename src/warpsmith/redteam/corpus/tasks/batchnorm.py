"""BatchNorm over images. In train mode it normalizes by the batch and moves its running statistics."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """norm(x)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm2d(channels)
        torch.nn.init.normal_(self.norm.weight, 1.0, 0.3)
        torch.nn.init.normal_(self.norm.bias)
        torch.nn.init.normal_(self.norm.get_buffer("running_mean"))
        torch.nn.init.uniform_(self.norm.get_buffer("running_var"), 0.5, 2.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.norm(x)
        return y


def get_init_inputs() -> list[int]:
    return [16]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(max(3, int(512 * SCALE)), 16, 32, 32)]
