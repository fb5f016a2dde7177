"""How much each token counts: all losses are sums of terms times these."""

from enum import StrEnum

import torch
from torch import Tensor


class Averaging(StrEnum):
    """What a loss is a mean over."""

    TOKENS = "tokens"  # all drawn tokens alike: a long sample counts more
    SAMPLES = "samples"  # each sample alike, its tokens sharing its weight (CUDA Agent's 1/T)


def token_weights(mask: Tensor, averaging: Averaging) -> Tensor:  # [B, T]
    """Weights that sum to 1 over the mask, 0 off it.

    Made once for a whole batch: a part of it takes its rows, so that how it is parted does not matter. A
    sample without drawn tokens is no sample.
    """
    mask = mask.float()
    match averaging:
        case Averaging.TOKENS:
            return mask / mask.sum().clamp(min=1.0)
        case Averaging.SAMPLES:
            lengths = mask.sum(dim=-1, keepdim=True)
            return mask / lengths.clamp(min=1.0) / (lengths > 0).sum().clamp(min=1)


def on_mask(values: Tensor, weights: Tensor) -> Tensor:  # [B, T]
    """`values` where a weight is, else 0: what stands elsewhere may be NaN, and NaN times 0 is NaN."""
    return torch.where(weights > 0, values, torch.zeros_like(values))
