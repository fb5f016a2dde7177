"""The last stage of a U-Net's decoder: upsample, join with the encoder's features, convolve twice.

Where: medical segmentation, and the decoders of diffusion models, with group normalization as these have it.
The upsampled and the joined tensor need not exist: the first convolution can read both of its sources itself.
At SCALE 1: x is f32[4,128,64,64], the features f32[4,64,128,128]. Images' areas scale with SCALE.
Least traffic: 42534400 bytes (both inputs read once, y written once, all weights).
Least arithmetic: 19327352832 FLOP in convolutions; arithmetic decides.
"""

import torch

SCALE = 1.0
GROUPS = 8


class Model(torch.nn.Module):
    """y = silu(norm(conv(silu(norm(conv(features beside upsampled x))))))."""

    def __init__(self, deep: int, shallow: int) -> None:
        super().__init__()
        self.conv1 = torch.nn.Conv2d(deep + shallow, shallow, 3, padding=1)
        self.norm1 = _trained(torch.nn.GroupNorm(GROUPS, shallow))
        self.conv2 = torch.nn.Conv2d(shallow, shallow, 3, padding=1)
        self.norm2 = _trained(torch.nn.GroupNorm(GROUPS, shallow))

    def forward(self, x: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        larger = torch.nn.functional.interpolate(x, scale_factor=2.0, mode="nearest")
        y = torch.cat((features, larger), dim=1)
        y = torch.nn.functional.silu(self.norm1(self.conv1(y)))
        return torch.nn.functional.silu(self.norm2(self.conv2(y)))


def _trained(norm: torch.nn.GroupNorm) -> torch.nn.GroupNorm:
    """With scales that are not those of a new one: these could be left out unnoticed."""
    torch.nn.init.uniform_(norm.weight, 0.5, 1.5)
    torch.nn.init.normal_(norm.bias, std=0.2)
    return norm


def get_init_inputs():
    return [128, 64]


def get_inputs():
    size = max(4, round(64 * SCALE**0.5))
    return [torch.randn(4, 128, size, size), torch.randn(4, 64, 2 * size, 2 * size)]
