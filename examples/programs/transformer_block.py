"""A pre-norm transformer block with causal attention: what a GPT-style model repeats at every layer.

Where: GPT-2 and GPT-3, OPT, and every decoder that was made like them.
Eager PyTorch writes the scores of all heads to memory and reads them again for softmax and for the product
with the values; flash attention does not. Bias, GELU and the residual sums can join the products before them.
At SCALE 1: x is f32[4,1024,1024], 16 heads of 64. Sequences scale with SCALE, the width with its root.
Least traffic: 83939328 bytes (x read once, y written once, all weights).
Least arithmetic: 120259084288 FLOP in products; half of attention's are for scores that the mask throws away.
"""

import torch

SCALE = 1.0
HEAD = 64


class Model(torch.nn.Module):
    """y = h + mlp(norm(h)) with h = x + attention(norm(x))."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1 = _trained(torch.nn.LayerNorm(width))
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.norm2 = _trained(torch.nn.LayerNorm(width))
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x + self._attention(self.norm1(x))
        return h + self.down(torch.nn.functional.gelu(self.up(self.norm2(h))))

    def _attention(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        heads = self.qkv(x).view(batch, length, 3, width // HEAD, HEAD).permute(2, 0, 3, 1, 4)
        query, key, value = heads[0], heads[1], heads[2]
        scores = query @ key.transpose(-2, -1) * HEAD**-0.5
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
        return self.out((weights @ value).transpose(1, 2).reshape(batch, length, width))


def _trained(norm: torch.nn.LayerNorm) -> torch.nn.LayerNorm:
    """With scales that are not those of a new one: these could be left out unnoticed."""
    torch.nn.init.uniform_(norm.weight, 0.5, 1.5)
    torch.nn.init.normal_(norm.bias, std=0.2)
    return norm


def get_init_inputs():
    return [HEAD * max(1, round(16 * SCALE**0.5))]


def get_inputs():
    length = max(16, round(1024 * SCALE))
    (width,) = get_init_inputs()
    return [torch.randn(4, length, width)]
