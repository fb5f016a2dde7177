"""A mixture-of-experts layer: each token goes to two of eight experts, chosen by a softmax over a product.

Where: Mixtral, DeepSeek, Qwen's MoE models: the feed-forward part of every layer.
Written plainly, as here, every expert computes every token and the gates throw most of it away: a program
that sorts tokens by expert does a quarter of that arithmetic.
At SCALE 1: x is f32[4096,1024], eight experts 2048 wide. Tokens scale with SCALE, widths with its root.
Least traffic: 167804928 bytes (x read once, y written once, all weights).
Arithmetic as it is written: 274945015808 FLOP in products; two of eight experts need a quarter of it.
"""

import torch

SCALE = 1.0
EXPERTS = 8
CHOSEN = 2


class Model(torch.nn.Module):
    """y = sum over the chosen experts e of gate_e * down_e(silu(up_e(x)))."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.router = torch.nn.Linear(width, EXPERTS, bias=False)
        self.up = torch.nn.Parameter(torch.randn(EXPERTS, width, hidden) * width**-0.5)
        self.down = torch.nn.Parameter(torch.randn(EXPERTS, hidden, width) * hidden**-0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        likely, chosen = torch.softmax(self.router(x), dim=-1).topk(CHOSEN, dim=-1)
        likely = likely / likely.sum(dim=-1, keepdim=True)
        gates = torch.zeros(x.shape[0], EXPERTS, device=x.device, dtype=x.dtype).scatter(1, chosen, likely)
        experts = torch.nn.functional.silu(x @ self.up) @ self.down
        return (gates.t().unsqueeze(-1) * experts).sum(dim=0)


def _width() -> int:
    return 16 * max(1, round(64 * SCALE**0.5))


def get_init_inputs():
    return [_width(), 2 * _width()]


def get_inputs():
    tokens = max(1, round(4096 * SCALE))
    return [torch.randn(tokens, _width())]
