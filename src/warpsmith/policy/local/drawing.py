"""From a model's logits to the next token."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from warpsmith.core import InfraError, UsageError
from warpsmith.policy.base import Sampling

SEEDS = 2**63
BLOCK = 128  # tokens of a vocabulary, summed before one of them is looked into


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A distribution's shape: greedy at temperature 0; only the likeliest tokens, which make up top_p."""

    temperature: float
    top_p: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.temperature < math.inf:
            raise UsageError(f"temperature must be 0 or more, not {self.temperature:g}")
        if not 0.0 < self.top_p <= 1.0:
            raise UsageError(f"top_p must be above 0 and at most 1, not {self.top_p:g}")


def drawing_of(sampling: Sampling, own: object) -> Drawing:
    """What `sampling` asks for; what it leaves open is as in `own`, the checkpoint's generation config.

    Its other fields (top_k, penalties) are not followed: they would make other log-probabilities than a
    trainer's.
    """

    def chosen(asked: float | None, name: str) -> float:
        value = getattr(own, name, None) if asked is None else asked
        return 1.0 if value is None else float(value)

    return Drawing(
        temperature=chosen(sampling.temperature, "temperature"), top_p=chosen(sampling.top_p, "top_p")
    )


def generator(seed: int | None, row: int) -> torch.Generator:
    """A row's own source of chance: its neighbours don't matter; nor, since it is on the host, the device."""
    source = torch.Generator()
    if seed is None:
        source.seed()
    else:
        source.manual_seed((seed + row) % SEEDS)
    return source


def uniforms(source: torch.Generator, count: int) -> Tensor:  # [count]
    """The next of a row's chances. So many at once are the same as one after another."""
    return torch.rand(count, generator=source, dtype=torch.float64)


def draw(logits: Tensor, drawing: Drawing, chance: Tensor) -> tuple[Tensor, Tensor]:
    """(ids [B], their log-probabilities [B]) for `logits` [B, V] and `chance` [B] in [0, 1).

    The device is not waited for: whoever asks for the results checks them by `check_finite`.
    """
    heat = drawing.temperature or 1.0
    logprobs = torch.log_softmax(logits.float() / heat, dim=-1)  # [B, V]
    ids = logprobs.argmax(dim=-1) if drawing.temperature == 0.0 else _chosen(logprobs, drawing.top_p, chance)
    return ids, logprobs.gather(-1, ids[:, None])[:, 0]


def check_finite(logprobs: Tensor) -> None:
    """Raises InfraError if logits were no numbers: broken weights, or a precision that overflows."""
    if not bool(torch.isfinite(logprobs).all()):
        raise InfraError(
            "the model's logits are not finite; its weights are broken, or overflow in this precision"
        )


def _chosen(logprobs: Tensor, top_p: float, chance: Tensor) -> Tensor:
    """By inverting the cumulative distribution, in float64: float32 loses a large vocabulary's tail."""
    probabilities = logprobs.double().exp()
    order = None
    if top_p < 1.0:
        probabilities, order = probabilities.sort(dim=-1, descending=True, stable=True)
        before = probabilities.cumsum(dim=-1) - probabilities
        probabilities = probabilities * (before < top_p)
    places = _inverted(probabilities, chance.to(probabilities.device)[:, None])
    return (places if order is None else order.gather(-1, places))[:, 0]


def _inverted(weights: Tensor, chance: Tensor) -> Tensor:  # [B, 1]
    """Where `chance` [B, 1] falls among `weights` [B, V].

    First among sums of blocks, then within one: a running sum over a whole vocabulary is the slowest part of
    drawing on a GPU.
    """
    short = -weights.shape[-1] % BLOCK
    if short:
        weights = torch.nn.functional.pad(weights, (0, short))
    blocks = weights.unflatten(-1, (-1, BLOCK))
    sums = blocks.sum(dim=-1).cumsum(dim=-1)  # [B, V / BLOCK]
    target = chance * sums[:, -1:]
    place = _first_above(sums, target)
    before = torch.where(place > 0, sums.gather(-1, (place - 1).clamp(min=0)), 0.0)
    block = blocks.gather(1, place[..., None].expand(-1, -1, BLOCK))[:, 0]  # [B, BLOCK]
    return place * BLOCK + _first_above(block.cumsum(dim=-1), target - before)


def _first_above(cumulative: Tensor, target: Tensor) -> Tensor:  # [B, 1]
    """The first place whose sum exceeds `target` [B, 1]; the last that adds anything if none does.

    Rounding may put the target at the end, behind which nothing has any probability.
    """
    places = torch.searchsorted(cumulative, target, right=True)
    last = (cumulative < cumulative[:, -1:]).sum(dim=-1, keepdim=True)
    return places.minimum(last)
