"""How an actor learns from samples whose advantages are known: shared by PPO and GRPO."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from warpsmith.learn.config import MemoryConfig, UpdateConfig
from warpsmith.learn.engines.local.actor import Actor
from warpsmith.learn.engines.local.batch import Batch, parts, rows_of
from warpsmith.learn.engines.local.descent import Descent
from warpsmith.learn.losses.divergence import k3
from warpsmith.learn.losses.policy import Clip, policy_loss
from warpsmith.learn.losses.weights import Averaging, on_mask, token_weights
from warpsmith.learn.metrics import Metric, Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One batch, and what is to be learnt from it; tensors are [B, T]."""

    batch: Batch
    old: Tensor  # log-probabilities before the update
    advantages: Tensor
    reference: Tensor | None = None  # log-probabilities of the model that training began with
    temperature: float = 1.0


class PolicyUpdate:
    """Epochs of clipped steps over one lesson."""

    def __init__(self, actor: Actor, config: UpdateConfig, memory: MemoryConfig) -> None:
        self._actor = actor
        self._config = config
        self._memory = memory
        self._clip = Clip(low=config.clip.low, high=config.clip.high, dual=config.clip.dual)
        self.descent = Descent(actor.model, config.descent)

    def learn(self, lesson: Lesson, rng: random.Random) -> Metrics:
        """What happened, as means over the steps; the largest of what is a maximum."""
        count, num_parts = len(lesson.batch.lengths), self._config.num_minibatches
        return combined(
            [
                self._step(lesson, places)
                for _ in range(self._config.epochs)
                for places in shuffled(count, num_parts, rng)
            ]
        )

    def _step(self, lesson: Lesson, places: Sequence[int]) -> Metrics:
        averaging = Averaging.SAMPLES if self._config.is_by_sample else Averaging.TOKENS
        part = lesson.batch.rows(places)
        weights = torch.zeros_like(lesson.batch.mask)
        weights[torch.tensor(places, device=weights.device), : part.mask.shape[1]] = token_weights(
            part.mask, averaging
        )
        sums: dict[Metric, float] = {}
        lr = self.descent.lr
        loss, norm = self.descent.step(self._losses(lesson, places, weights, sums))
        return {**sums, Metric.LOSS: loss, Metric.GRAD_NORM: norm, Metric.LR: lr}

    def _losses(
        self, lesson: Lesson, places: Sequence[int], weights: Tensor, sums: dict[Metric, float]
    ) -> Iterator[Tensor]:
        for piece in parts(lesson.batch.lengths, places, self._memory.micro_tokens):
            part = lesson.batch.rows(piece)
            said = self._actor.said(part, temperature=lesson.temperature)
            weight = rows_of(weights, piece, part)
            old, advantages = (rows_of(tensor, piece, part) for tensor in (lesson.old, lesson.advantages))
            found = policy_loss(said.logprobs, old, advantages, weight, self._clip)
            loss = found.loss
            if lesson.reference is not None:
                distance = on_mask(k3(said.logprobs, rows_of(lesson.reference, piece, part)), weight)
                divergence = (distance * weight).sum()
                loss = loss + self._config.kl * divergence
                _add(sums, Metric.KL, float(divergence.detach()))
            _add(sums, Metric.ENTROPY, float((said.entropy * weight).sum()))
            _add(sums, Metric.CLIPPED, float(found.clipped))
            _add(sums, Metric.DUAL_CLIPPED, float(found.dual_clipped))
            _add(sums, Metric.MOVED, float(found.k1))
            sums[Metric.MAX_LOG_RATIO] = max(sums.get(Metric.MAX_LOG_RATIO, 0.0), float(found.max_log_ratio))
            yield loss


def shuffled(total: int, num_parts: int, rng: random.Random) -> Iterator[list[int]]:
    """All numbers below `total` in a new order, in `num_parts` parts of nearly equal size, none empty."""
    order = list(range(total))
    rng.shuffle(order)
    count = min(num_parts, total)
    for part in range(count):
        yield order[part * total // count : (part + 1) * total // count]


def combined(told: Sequence[Metrics]) -> Metrics:
    metrics: Metrics = {}
    for metric in told[0]:
        values = [one[metric] for one in told]
        metrics[metric] = max(values) if metric is Metric.MAX_LOG_RATIO else sum(values) / len(values)
    return metrics


def _add(sums: dict[Metric, float], metric: Metric, value: float) -> None:
    sums[metric] = sums.get(metric, 0.0) + value
