"""Mean and variance of each row, as a dict."""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """mean(x), var(x) without correction."""

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"mean": x.mean(dim=-1), "var": x.var(dim=-1, correction=0)}


def get_init_inputs() -> list[int]:
    return []


def get_inputs() -> list[torch.Tensor]:
    rows = 1 + int(65536 * SCALE)
    return [torch.randn(rows, 1) + torch.randn(rows, 1000)]
