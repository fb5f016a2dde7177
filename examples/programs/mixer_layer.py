"""A layer of MLP-Mixer: one multi-layer perceptron across the patches of an image, one across its channels.

Where: MLP-Mixer and its kin (gMLP, ResMLP), which have products and nothing else to mix with.
The first perceptron works along the other axis: eager PyTorch transposes before and after it, and a product
can read and write transposed as well.
At SCALE 1: x is f32[64,196,768], as Mixer-B/16 has it. Images scale with SCALE, channels with its root.
Least traffic: 96589360 bytes (x read once, y written once, all weights).
Least arithmetic: 133485821952 FLOP in products; arithmetic decides.
"""

import torch

SCALE = 1.0
PATCHES = 196


class Model(torch.nn.Module):
    """y = h + channels(norm(h)) with h = x + patches(norm(x) transposed) transposed."""

    def __init__(self, patches: int, channels: int) -> None:
        super().__init__()
        self.norm1 = _trained(torch.nn.LayerNorm(channels))
        self.patches = _perceptron(patches, 2 * patches)
        self.norm2 = _trained(torch.nn.LayerNorm(channels))
        self.channels = _perceptron(channels, 4 * channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x + self.patches(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return h + self.channels(self.norm2(h))


def _perceptron(width: int, hidden: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Linear(width, hidden), torch.nn.GELU(), torch.nn.Linear(hidden, width)
    )


def _trained(norm: torch.nn.LayerNorm) -> torch.nn.LayerNorm:
    """With scales that are not those of a new one: these could be left out unnoticed."""
    torch.nn.init.uniform_(norm.weight, 0.5, 1.5)
    torch.nn.init.normal_(norm.bias, std=0.2)
    return norm


def _channels() -> int:
    return 16 * max(1, round(48 * SCALE**0.5))


def get_init_inputs():
    return [PATCHES, _channels()]


def get_inputs():
    images = max(1, round(64 * SCALE))
    return [torch.randn(images, PATCHES, _channels())]
