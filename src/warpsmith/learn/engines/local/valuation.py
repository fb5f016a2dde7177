"""Fitting a critic to recorded samples, before any actor learns from it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from warpsmith.core import UsageError
from warpsmith.learn.config import MemoryConfig, ValueConfig
from warpsmith.learn.curves.calibration import CALIBRATION, calibrated, write_calibration
from warpsmith.learn.engines.local import critic as critics
from warpsmith.learn.engines.local.actor import in_parts
from warpsmith.learn.engines.local.batch import Batch, last_rewards, parts, rows_of
from warpsmith.learn.engines.local.critic import Critic
from warpsmith.learn.engines.local.descent import Descent
from warpsmith.learn.engines.local.lora import adapted
from warpsmith.learn.engines.local.sft import check_samples, digest_of
from warpsmith.learn.engines.local.student import Student, write_whole
from warpsmith.learn.losses.advantages import gae
from warpsmith.learn.losses.value import explained_variance, value_loss
from warpsmith.learn.losses.weights import Averaging, token_weights
from warpsmith.learn.metrics import Metric, Metrics
from warpsmith.learn.order import drawn_for
from warpsmith.learn.trajectory.nouns import Sample

MOST_FORETOLD = 256  # samples that the finished critic is held against


class CriticUpdate:
    """Steps of a critic towards returns."""

    def __init__(self, critic: Critic, descent: Descent, memory: MemoryConfig) -> None:
        self.critic = critic
        self.descent = descent
        self._memory = memory

    def values(self, batch: Batch) -> Tensor:  # [B, T]
        return in_parts(batch, self._memory, self.critic.values)

    def learn(self, batch: Batch, old: Tensor, returns: Tensor, clip: float | None) -> Metrics:
        """One step over the whole batch; `old` are the values before it. [B, T] each."""
        weights = token_weights(batch.mask, Averaging.TOKENS)
        loss, norm = self.descent.step(self._losses(batch, old, returns, weights, clip))
        return {Metric.VALUE_LOSS: loss, Metric.CRITIC_GRAD_NORM: norm}

    def _losses(
        self, batch: Batch, old: Tensor, returns: Tensor, weights: Tensor, clip: float | None
    ) -> Iterator[Tensor]:
        for piece in parts(batch.lengths, range(len(batch.lengths)), self._memory.micro_tokens):
            part = batch.rows(piece)
            loss, _ = value_loss(
                self.critic.values(part),
                rows_of(old, piece, part),
                rows_of(returns, piece, part),
                rows_of(weights, piece, part),
                clip=clip,
            )
            yield loss


class Valuation:
    """A critic with the student's body and a head of zeros; the student itself is only copied from."""

    name = "value"

    def __init__(self, student: Student, samples: Sequence[Sample], config: ValueConfig) -> None:
        """Raises UsageError as `Sft`, and for a sample without a reward: drop those first."""
        check_samples(samples, student)
        lacking = sum(sample.reward is None for sample in samples)
        if lacking:
            raise UsageError(f"{lacking} samples have no reward; a critic learns from those that have")
        self.config = config
        self.data = digest_of(samples)
        self._samples = samples
        self._model = critics.fresh(student.model)
        adapted(self._model, config.lora, seed=config.loop.seed)
        self._update = CriticUpdate(
            Critic(self._model, config.memory), Descent(self._model, config.descent), config.memory
        )

    def step(self, number: int) -> Metrics:
        config = self.config
        chosen = drawn_for(number, self._samples, config.samples_per_step, config.loop.seed)
        batch = Batch.of(chosen, self._update.critic.device)
        rewards = last_rewards([sample.reward or 0.0 for sample in chosen], batch)
        values = self._update.values(batch)
        _, returns = gae(rewards, values, batch.mask, gamma=config.gamma, lam=config.lam)
        lr = self._update.descent.lr
        metrics = self._update.learn(batch, values, returns, clip=None)
        metrics |= {
            Metric.LR: lr,
            Metric.SAMPLES: float(len(chosen)),
            Metric.TOKENS: float(batch.mask.sum()),
            Metric.READ: float(sum(batch.lengths)),
        }
        return metrics | fit_of(values, returns, batch.mask)

    def networks(self) -> dict[str, Any]:
        return {"critic": self._model}

    def state(self) -> dict[str, Any]:
        return {"critic": self._update.descent.state()}

    def load(self, state: dict[str, Any]) -> None:
        self._update.descent.load(state["critic"])

    def write(self, folder: Path) -> None:
        write_whole(self._model, folder / "critic")
        write_calibration(folder / CALIBRATION, calibrated(*self._foretold()))

    def _foretold(self) -> tuple[list[float], list[float]]:
        """Of drawn tokens, what the critic says at the end, and the plain return."""
        samples = self._samples[:MOST_FORETOLD]
        batch = Batch.of(samples, self._update.critic.device)
        rewards = last_rewards([sample.reward or 0.0 for sample in samples], batch)
        values = self._update.values(batch)
        _, returns = gae(rewards, values, batch.mask, gamma=1.0, lam=1.0)
        chosen = batch.mask.bool()
        return values[chosen].tolist(), returns[chosen].tolist()


def fit_of(values: Tensor, returns: Tensor, mask: Tensor) -> Metrics:
    """How well the values of before a step foretold; nothing where returns hardly vary."""
    explained = explained_variance(values, returns, mask)
    return {} if explained is None else {Metric.EXPLAINED_VARIANCE: explained}
