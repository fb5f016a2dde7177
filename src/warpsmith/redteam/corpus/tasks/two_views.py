"""One result, returned in two shapes that share their memory."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """sin(x), and the same as one row."""

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        y = torch.sin(x)
        return {"image": y, "flat": y.view(-1)}


def get_init_inputs() -> list[int]:
    return []


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(max(3, int(16384 * SCALE)), 31, 33)]
