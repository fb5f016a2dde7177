"""Learning to say what was said."""

from torch import Tensor

from warpsmith.learn.losses.weights import on_mask


def cross_entropy(logprobs: Tensor, weights: Tensor) -> Tensor:  # []
    """-log p of each drawn token, in nats, summed with `weights`, which hold the denominator. [B, T] both."""
    assert logprobs.shape == weights.shape
    return -(on_mask(logprobs, weights) * weights).sum()
