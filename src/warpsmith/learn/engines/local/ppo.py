"""PPO with a critic of its own, over samples of several turns."""

import random
from pathlib import Path
from typing import Any

from torch import Tensor

from warpsmith.learn.config import PpoConfig
from warpsmith.learn.engines.local.actor import Actor
from warpsmith.learn.engines.local.batch import Batch, last_rewards
from warpsmith.learn.engines.local.critic import Critic
from warpsmith.learn.engines.local.descent import Descent
from warpsmith.learn.engines.local.lora import adapted
from warpsmith.learn.engines.local.rollout import remembered, rolled
from warpsmith.learn.engines.local.student import Student, write_student, write_whole
from warpsmith.learn.engines.local.update import Lesson, PolicyUpdate
from warpsmith.learn.engines.local.valuation import CriticUpdate, fit_of
from warpsmith.learn.losses.advantages import gae, whitened
from warpsmith.learn.metrics import Metric, Metrics
from warpsmith.learn.monitors import is_sound
from warpsmith.learn.sources import Source


class Ppo:
    """Each step: samples are drawn and judged, the critic and then the actor learn from them."""

    name = "ppo"

    def __init__(self, student: Student, critic: Any, source: Source, config: PpoConfig) -> None:
        """`critic` is a model that `critic.fresh` made or `critic.read` read."""
        self.config = config
        self.data = type(source).__name__
        self._student = student
        self._source = source
        adapted(student.model, config.lora, seed=config.loop.seed, base=student.base)
        adapted(critic, config.critic_lora, seed=config.loop.seed)
        self._actor = Actor(student.model, config.memory)
        self._update = PolicyUpdate(self._actor, config.update, config.memory)
        self._critic_model = critic
        self._critic = CriticUpdate(
            Critic(critic, config.memory), Descent(critic, config.critic), config.memory
        )

    def step(self, number: int) -> Metrics:
        config = self.config
        rollout = rolled(self._student, self._source, config, number)
        samples = rollout.rewarded
        metrics = rollout.metrics | {Metric.UPDATED: 0.0}
        if not samples:
            return metrics
        batch = Batch.of(samples, self._actor.device)
        metrics[Metric.READ] = float(sum(batch.lengths))
        temperature = config.sampling.temperature or 1.0
        old, metrics[Metric.MISMATCH] = remembered(self._actor, samples, batch, config.memory, temperature)
        if not is_sound(metrics, config.loop.limits):
            return metrics
        rewards = last_rewards([sample.reward or 0.0 for sample in samples], batch)
        values = self._critic.values(batch)
        metrics |= self._criticised(batch, rewards, values)
        if number > config.critic_only_steps:
            advantages, _ = gae(rewards, values, batch.mask, gamma=config.gamma, lam=config.lam)
            if config.is_whitened:
                advantages = whitened(advantages, batch.mask)
            lesson = Lesson(batch=batch, old=old, advantages=advantages, temperature=temperature)
            rng = random.Random(f"{config.loop.seed}/{number}")
            metrics |= self._update.learn(lesson, rng) | {Metric.UPDATED: 1.0}
        return metrics

    def _criticised(self, batch: Batch, rewards: Tensor, values: Tensor) -> Metrics:
        config = self.config
        _, returns = gae(rewards, values, batch.mask, gamma=config.gamma, lam=config.critic_lam)
        metrics = fit_of(values, returns, batch.mask)
        for _ in range(config.critic_epochs):
            metrics |= self._critic.learn(batch, values, returns, config.value_clip)
        return metrics

    def networks(self) -> dict[str, Any]:
        return {"actor": self._student.model, "critic": self._critic_model}

    def state(self) -> dict[str, Any]:
        return {"actor": self._update.descent.state(), "critic": self._critic.descent.state()}

    def load(self, state: dict[str, Any]) -> None:
        self._update.descent.load(state["actor"])
        self._critic.descent.load(state["critic"])

    def write(self, folder: Path) -> None:
        lora = self.config.lora
        write_student(self._student, folder / "actor", is_merged=lora is None or lora.is_merged)
        write_whole(self._critic_model, folder / "critic")
