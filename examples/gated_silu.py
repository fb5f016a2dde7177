"""Bias, SiLU and multiply: the gate of a SwiGLU feed-forward block, between its projections.

Where: every feed-forward block of LLaMA, Mistral, Qwen and PaLM (some of them without the bias).
Eager PyTorch runs it as three kernels with two intermediate tensors.
At SCALE 1: gate and up are f32[8192,11008] (LLaMA-7B's hidden width), 344 MiB each: six times an H200's L2.
Least traffic: 1082174464 bytes (gate and up read once, y written once, the bias).
Least arithmetic: 0 FLOP in matrix products; bandwidth decides.
"""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """y = silu(gate + bias) * up."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.bias = torch.nn.Parameter(0.5 * torch.randn(width))

    def forward(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.silu(gate + self.bias) * up


def get_init_inputs():
    return [11008]


def get_inputs():
    rows = max(1, int(8192 * SCALE))
    return [torch.randn(rows, 11008), torch.randn(rows, 11008)]
