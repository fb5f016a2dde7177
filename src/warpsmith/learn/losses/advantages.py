"""Generalized advantage estimation over what a policy drew (Schulman et al., arXiv 1506.02438).

Axes: B samples, T tokens.
"""

import numpy as np
import torch
from scipy.signal import lfilter
from torch import Tensor

from warpsmith.core import UsageError


def gae(
    rewards: Tensor, values: Tensor, mask: Tensor, *, gamma: float = 1.0, lam: float = 1.0
) -> tuple[Tensor, Tensor]:
    """(advantages, returns), each [B, T] and 0 off the mask, from [B, T] each.

    A_k = sum over j >= k of (gamma lam)^(j-k) (r_j + gamma V_(j+1) - V_k), return = A + V, where j and k
    count the drawn tokens alone: what a tool said in between is no step in time. Counted as steps, with lam <
    1, they give the sign of the tool's length. After the last drawn token the value is 0.

    Values off the mask are not looked at. Raises UsageError for a reward off the mask, which would be lost.
    """
    assert rewards.shape == values.shape == mask.shape
    if bool((rewards[mask == 0] != 0).any()):
        raise UsageError("a reward stands on a token that no policy drew; put it on the last drawn one")
    drawn = mask.bool().cpu().numpy()
    earned, expected = (tensor.detach().double().cpu().numpy() for tensor in (rewards, values))
    advantages = np.zeros(mask.shape)
    for row in range(mask.shape[0]):
        places = np.flatnonzero(drawn[row])
        if places.size:
            value = expected[row, places]
            after = np.append(value[1:], 0.0)
            surprise = earned[row, places] + gamma * after - value
            # The recursion A_k = d_k + gamma lam A_(k+1), run backwards.
            advantages[row, places] = lfilter([1.0], [1.0, -gamma * lam], surprise[::-1])[::-1]
    found = torch.from_numpy(advantages).to(values)
    return found, (found + values.detach()) * mask


def whitened(advantages: Tensor, mask: Tensor) -> Tensor:  # [B, T]
    """With mean 0 and deviation 1 over the mask, 0 off it; equal ones become 0, fewer than two stay."""
    assert advantages.shape == mask.shape
    chosen = advantages[mask.bool()].double()
    if chosen.numel() < 2:
        return advantages * mask
    deviation = chosen.std()
    centred = (advantages.double() - chosen.mean()) * mask
    return (centred / (deviation + 1e-8)).to(advantages) if deviation > 0 else torch.zeros_like(advantages)
