"""A bottleneck block of ResNet-50 in eval mode: three convolutions, each normalized, and a shortcut.

Where: stage 3 of ResNet-50 and of what is built like it (RetinaNet, Mask R-CNN, CLIP's ResNets).
Eager PyTorch normalizes, rectifies and adds in kernels of their own; the normalizations can be folded into
the convolutions beforehand, as they only depend on weights, and the rest into what the convolutions write.
At SCALE 1: x is f32[64,1024,14,14]. Images of the batch scale with SCALE, channels with its root.
Least traffic: 107241472 bytes (x read once, y written once, all weights).
Least arithmetic: 27950841856 FLOP in convolutions; arithmetic decides.
"""

import torch

SCALE = 1.0


class Model(torch.nn.Module):
    """y = relu(x + norm(conv1x1(relu(norm(conv3x3(relu(norm(conv1x1(x))))))))."""

    def __init__(self, channels: int, inner: int) -> None:
        super().__init__()
        self.reduce = torch.nn.Conv2d(channels, inner, 1, bias=False)
        self.norm1 = _trained(torch.nn.BatchNorm2d(inner))
        self.mix = torch.nn.Conv2d(inner, inner, 3, padding=1, bias=False)
        self.norm2 = _trained(torch.nn.BatchNorm2d(inner))
        self.expand = torch.nn.Conv2d(inner, channels, 1, bias=False)
        self.norm3 = _trained(torch.nn.BatchNorm2d(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm1(self.reduce(x)))
        y = torch.relu(self.norm2(self.mix(y)))
        return torch.relu(self.norm3(self.expand(y)) + x)


def _trained(norm: torch.nn.BatchNorm2d) -> torch.nn.BatchNorm2d:
    """With statistics and scales that are not those of a new one: these could be left out unnoticed."""
    torch.nn.init.uniform_(norm.weight, 0.5, 1.5)
    torch.nn.init.normal_(norm.bias, std=0.2)
    torch.nn.init.normal_(norm.running_mean, std=0.2)
    torch.nn.init.uniform_(norm.running_var, 0.5, 1.5)
    return norm


def _inner() -> int:
    return 8 * max(1, round(32 * SCALE**0.5))


def get_init_inputs():
    return [4 * _inner(), _inner()]


def get_inputs():
    images = max(1, round(64 * SCALE))
    return [torch.randn(images, 4 * _inner(), 14, 14)]
