"""RMSNorm with a learned scale, then GELU: the entry of a feed-forward block, over one batch of tokens.

Where: LLaMA-style and T5-style blocks normalize by root mean square before the activation or projection.
Eager PyTorch runs it as six kernels or more, each of which reads and writes the whole tensor.
At SCALE 1: x is f32[32768,4096], 512 MiB: ten times an H200's L2 cache.
Least traffic: 1073758208 bytes (x read once, y written once, the scale).
Least arithmetic: 0 FLOP in matrix products; bandwidth decides.
"""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """y = gelu(weight * x / sqrt(mean(x^2) + eps)), over the last dimension."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(1.0 + 0.2 * torch.randn(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean_square = x.pow(2).mean(dim=-1, keepdim=True)
        return torch.nn.functional.gelu(x * torch.rsqrt(mean_square + self.eps) * self.weight)


def get_init_inputs():
    return [4096, 1e-6]


def get_inputs():
    rows = max(1, int(32768 * SCALE))
    return [torch.randn(rows, 4096)]
