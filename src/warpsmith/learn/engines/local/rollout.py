"""A step's samples, as PPO and GRPO both need them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from warpsmith.core import InfraError
from warpsmith.learn.config import GrpoConfig, MemoryConfig, PpoConfig
from warpsmith.learn.engines.local.actor import Actor, in_parts, precision_of
from warpsmith.learn.engines.local.batch import Batch, drawn_logprobs
from warpsmith.learn.engines.local.student import Student
from warpsmith.learn.metrics import Metric, Metrics
from warpsmith.learn.rewards.base import Reward
from warpsmith.learn.sources import Source
from warpsmith.learn.trajectory.nouns import Sample
from warpsmith.policy.base import Sampling
from warpsmith.policy.local.tokens import DecodingConfig, TokenOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """All samples of a step, those without a reward too, and what there is to say of them."""

    samples: tuple[Sample, ...]
    metrics: Metrics

    @property
    def rewarded(self) -> tuple[Sample, ...]:
        return tuple(sample for sample in self.samples if sample.reward is not None)


def rolled(student: Student, source: Source, config: PpoConfig | GrpoConfig, step: int) -> Rollout:
    """Raises InfraError if the source has no sample, or none that was drawn with its log-probabilities."""
    begun_s = time.monotonic()
    student.model.eval()
    voice = Voice(student, config.memory, config.decoding)
    samples = source.rollouts(voice, seeded(config.sampling, config.loop.seed), step)
    if not samples:
        raise InfraError(f"step {step} has no samples; nothing can be learnt")
    spent = {
        Metric.GENERATED: float(voice.num_drawn),
        Metric.GENERATE_S: voice.spent_s,
        Metric.ROLLOUT_S: time.monotonic() - begun_s,
    }
    return Rollout(samples=samples, metrics=about(samples) | spent)


class Voice:
    """A student that draws in the trainer's precision, in whatever thread: autocast holds for one alone."""

    def __init__(
        self, student: Student, memory: MemoryConfig, decoding: DecodingConfig | None = None
    ) -> None:
        self._engine = student.engine(decoding)
        self._memory = memory
        self._device = student.device
        self.num_drawn = 0  # tokens
        self.spent_s = 0.0

    def generate(self, prompts: Sequence[Sequence[int]], sampling: Sampling) -> tuple[TokenOutput, ...]:
        """See TokenPolicy."""
        begun_s = time.monotonic()
        with precision_of(self._memory, self._device):
            outputs = self._engine.generate(prompts, sampling)
        self.spent_s += time.monotonic() - begun_s
        self.num_drawn += sum(len(output.ids) for output in outputs)
        return outputs


def about(samples: Sequence[Sample]) -> Metrics:
    rewards = [sample.reward for sample in samples if sample.reward is not None]
    outcomes = [sample.outcome for sample in samples if isinstance(sample.outcome, Reward)]
    metrics: Metrics = {
        Metric.SAMPLES: float(len(samples)),
        Metric.TOKENS: float(sum(sample.num_drawn for sample in samples)),
        Metric.UNREWARDED: float(len(samples) - len(rewards)),
        Metric.TRUNCATED: sum(sample.is_truncated for sample in samples) / len(samples),
    }
    if rewards:
        mean = sum(rewards) / len(rewards)
        metrics |= {
            Metric.REWARD: mean,
            Metric.REWARD_DEVIATION: (sum((reward - mean) ** 2 for reward in rewards) / len(rewards)) ** 0.5,
            Metric.PASS_RATE: sum(reward > 0 for reward in rewards) / len(rewards),
            Metric.MODELLED: sum(outcome.is_modelled for outcome in outcomes) / len(rewards),
        }
    return metrics


def remembered(
    actor: Actor, samples: Sequence[Sample], batch: Batch, memory: MemoryConfig, temperature: float
) -> tuple[Tensor, float]:
    """(log-probabilities by the trainer's own computation [B, T], how far they are from those told).

    Raises InfraError if a sample does not tell them: then nobody can know whether these tokens were drawn.
    """
    told = drawn_logprobs(samples, batch)
    if told is None:
        raise InfraError(
            "a sample lacks the log-probabilities that it was drawn with; it cannot be learnt from"
        )
    old = in_parts(batch, memory, lambda part: actor.said(part, temperature=temperature).logprobs)
    apart = ((old - told).abs() * batch.mask).sum() / batch.mask.sum()
    return old, float(apart)


def seeded(sampling: Sampling, seed: int) -> Sampling:
    """A source's chance comes from the run's seed, unless its sampling has one of its own."""
    return sampling if sampling.seed is not None else replace(sampling, seed=seed)
