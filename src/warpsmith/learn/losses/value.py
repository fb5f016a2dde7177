"""How far a critic is off."""

import torch
from torch import Tensor

from warpsmith.learn.losses.weights import on_mask


def value_loss(
    values: Tensor, old: Tensor, returns: Tensor, weights: Tensor, *, clip: float | None = None
) -> tuple[Tensor, Tensor]:
    """(loss [], share of clipped tokens []) from [B, T] each.

    0.5 max((V - R)^2, (clip(V, old - c, old + c) - R)^2), summed with `weights`, which hold the denominator.
    With a clip a fresh critic learns slowly: None while it is fitted. Tokens off the weights contribute
    nothing, whatever stands there.
    """
    assert values.shape == old.shape == returns.shape == weights.shape
    values, old, returns = (on_mask(tensor, weights) for tensor in (values, old, returns))
    terms = (values - returns) ** 2
    is_clipped = torch.zeros_like(terms)
    if clip is not None:
        bounded = (values.clamp(min=old - clip, max=old + clip) - returns) ** 2
        is_clipped = (bounded > terms).to(terms)
        terms = torch.maximum(terms, bounded)
    return 0.5 * (terms * weights).sum(), (is_clipped * weights).sum().detach()


def explained_variance(values: Tensor, returns: Tensor, mask: Tensor) -> float | None:
    """1 - Var(R - V) / Var(R) over the mask of [B, T] each; 1 is perfect, 0 no better than a constant.

    None where the returns hardly vary: then the quotient says nothing, however good the critic.
    """
    assert values.shape == returns.shape == mask.shape
    chosen = mask.bool()
    expected, found = values[chosen].double(), returns[chosen].double()
    if found.numel() < 2 or found.var() < 1e-4:
        return None
    return float(1.0 - (found - expected).var() / found.var())
