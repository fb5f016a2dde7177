"""Softmax of attention scores with a temperature and a boolean mask shared by all heads.

Where: attention that materializes its scores, as in T5, ALiBi variants and models that return attention maps.
Eager PyTorch divides, fills and normalizes in three passes over the scores.
At SCALE 1: scores are f32[64,1024,2048] (4 sequences of 16 heads), 512 MiB; the mask is bool[1024,2048].
Least traffic: 1075838976 bytes (scores read once, probabilities written once, the mask read once).
Least arithmetic: 0 FLOP in matrix products; bandwidth decides.
"""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """Row-wise softmax(scores / temperature) over the keys that the mask leaves open."""

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, scores: torch.Tensor, is_hidden: torch.Tensor) -> torch.Tensor:
        scores = (scores / self.temperature).masked_fill(is_hidden, float("-inf"))
        return torch.softmax(scores, dim=-1)


def get_init_inputs():
    return [0.7]


def get_inputs():
    heads = max(1, int(64 * SCALE))
    is_hidden = torch.rand(1024, 2048) < 0.3
    is_hidden[:, 0] = False  # a query that sees no key has no softmax
    return [torch.randn(heads, 1024, 2048), is_hidden]
