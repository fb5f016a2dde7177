"""The clipped surrogate of PPO, token by token (arXiv 1707.06347).

With another bound above than below (DAPO, arXiv 2503.14476) and a bound on what a token of negative advantage
can cost (dual clip, arXiv 1912.09729).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from warpsmith.core import UsageError
from warpsmith.learn.losses.weights import on_mask

MAX_LOG_RATIO = 20.0  # exp of more overflows in half precision, and says the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """How far a token's probability may move before it earns nothing more. `dual` None: no dual clip."""

    low: float = 0.2
    high: float = 0.28
    dual: float | None = 3.0

    def __post_init__(self) -> None:
        if not 0.0 < self.low < 1.0 or not self.high > 0.0:
            raise UsageError(
                f"clip bounds must be low in (0, 1) and high above 0, not {self.low:g} and {self.high:g}"
            )
        if self.dual is not None and not self.dual > 1.0:
            raise UsageError(f"the dual clip must be above 1, not {self.dual:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLoss:
    """The loss, and weighted shares and means of tokens that say how it came about."""

    loss: Tensor  # []
    clipped: Tensor  # [] share whose gradient the bounds cut off
    dual_clipped: Tensor  # [] share that the dual clip cut off
    k1: Tensor  # [] mean of old - new log-probability: how far the policy moved
    max_log_ratio: Tensor  # [] the largest |new - old|


def policy_loss(logprobs: Tensor, old: Tensor, advantages: Tensor, weights: Tensor, clip: Clip) -> PolicyLoss:
    """All inputs [B, T]; the denominator is in `weights`, which also say what is looked at.

    A token off the weights contributes neither value nor gradient, whatever stands there. One on them that is
    not finite makes the loss so: whoever steps must look at it first.
    """
    assert logprobs.shape == old.shape == advantages.shape == weights.shape
    moved = on_mask(logprobs - old, weights)
    log_ratio = moved.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    ratio = log_ratio.exp()
    gain = on_mask(advantages, weights)
    plain = -gain * ratio
    bounded = -gain * ratio.clamp(1.0 - clip.low, 1.0 + clip.high)
    terms = torch.maximum(plain, bounded)
    is_clipped = bounded > plain
    is_dual = torch.zeros_like(is_clipped)
    if clip.dual is not None:
        most = -gain * clip.dual
        is_dual = (gain < 0) & (terms > most)
        terms = torch.where(gain < 0, torch.minimum(terms, most), terms)
    return PolicyLoss(
        loss=(terms * weights).sum(),
        clipped=(is_clipped * weights).sum().detach(),
        dual_clipped=(is_dual * weights).sum().detach(),
        k1=-(log_ratio * weights).sum().detach(),
        max_log_ratio=moved.detach().abs().max(),
    )
