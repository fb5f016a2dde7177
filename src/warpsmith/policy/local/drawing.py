"""From a model's logits to the next token."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from warpsmith.core import InfraError, UsageError
from warpsmith.policy.base import Sampling

SEEDS = 2**63


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


def uniforms(sources: list[torch.Generator]) -> Tensor:  # [B]
    return torch.stack([torch.rand((), generator=source, dtype=torch.float64) for source in sources])


def draw(logits: Tensor, drawing: Drawing, chance: Tensor) -> tuple[Tensor, Tensor]:
    """(ids [B], their log-probabilities [B]) for `logits` [B, V] and `chance` [B] in [0, 1).

    Raises InfraError if the logits are no numbers: broken weights, or a precision that overflows.
    """
    heat = drawing.temperature or 1.0
    logprobs = torch.log_softmax(logits.float() / heat, dim=-1)  # [B, V]
    ids = logprobs.argmax(dim=-1) if drawing.temperature == 0.0 else _chosen(logprobs, drawing.top_p, chance)
    drawn = logprobs.gather(-1, ids[:, None])[:, 0]
    if not bool(torch.isfinite(drawn).all()):
        raise InfraError(
            "the model's logits are not finite; its weights are broken, or overflow in this precision"
        )
    return ids, drawn


def _chosen(logprobs: Tensor, top_p: float, chance: Tensor) -> Tensor:
    """By inverting the cumulative distribution, in float64: float32 loses a large vocabulary's tail."""
    probabilities = logprobs.double().exp()
    order = None
    if top_p < 1.0:
        probabilities, order = probabilities.sort(dim=-1, descending=True, stable=True)
        before = probabilities.cumsum(dim=-1) - probabilities
        probabilities = probabilities * (before < top_p)
    cumulative = probabilities.cumsum(dim=-1)
    target = chance.to(cumulative.device)[:, None] * cumulative[:, -1:]
    places = torch.searchsorted(cumulative, target, right=True)
    last = probabilities.shape[-1] - 1 - (probabilities.flip(-1) > 0).int().argmax(dim=-1, keepdim=True)
    places = places.minimum(last)  # rounding may step over the end
    return (places if order is None else order.gather(-1, places))[:, 0]
