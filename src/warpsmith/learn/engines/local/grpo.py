"""GRPO: samples of one prompt are held against each other, and there is no critic."""

import random
from pathlib import Path
from typing import Any

import torch

from warpsmith.learn.config import GrpoConfig
from warpsmith.learn.engines.local.actor import Actor
from warpsmith.learn.engines.local.batch import Batch
from warpsmith.learn.engines.local.lora import adapted
from warpsmith.learn.engines.local.reference import Reference
from warpsmith.learn.engines.local.rollout import remembered, rolled
from warpsmith.learn.engines.local.student import Student, write_student
from warpsmith.learn.engines.local.update import Lesson, PolicyUpdate
from warpsmith.learn.losses.groups import group_advantages
from warpsmith.learn.metrics import Metric, Metrics
from warpsmith.learn.monitors import is_sound
from warpsmith.learn.sources import Source


class Grpo:
    """Each step: groups are drawn and judged, and the actor learns from those whose rewards differ.

    With `update.kl` the student as it is now is kept as the reference: make this before a run is taken up
    again, with the student that the run began with.
    """

    name = "grpo"

    def __init__(self, student: Student, source: Source, config: GrpoConfig) -> None:
        self.config = config
        self.data = type(source).__name__
        self._student = student
        self._source = source
        adapted(student.model, config.lora, seed=config.loop.seed, base=student.base)
        self._actor = Actor(student.model, config.memory)
        self._update = PolicyUpdate(self._actor, config.update, config.memory)
        self._reference = Reference(self._actor, config.memory) if config.update.kl > 0.0 else None

    def step(self, number: int) -> Metrics:
        config = self.config
        rollout = rolled(self._student, self._source, config, number)
        found = group_advantages(
            [sample.reward for sample in rollout.samples],
            [sample.group for sample in rollout.samples],
            baseline=config.baseline,
            by_deviation=config.by_deviation,
        )
        metrics = rollout.metrics | {
            Metric.UPDATED: 0.0,
            Metric.SILENT_GROUPS: float(found.num_silent_groups),
        }
        pairs = zip(rollout.samples, found.values, strict=True)
        taught = [(sample, value) for sample, value in pairs if value is not None]
        if not taught:
            return metrics
        samples = [sample for sample, _ in taught]
        batch = Batch.of(samples, self._actor.device)
        metrics[Metric.READ] = float(sum(batch.lengths))
        temperature = config.sampling.temperature or 1.0
        old, metrics[Metric.MISMATCH] = remembered(self._actor, samples, batch, config.memory, temperature)
        if not is_sound(metrics, config.loop.limits):
            return metrics
        advantages = (
            torch.tensor([value for _, value in taught], device=batch.mask.device)[:, None] * batch.mask
        )
        lesson = Lesson(
            batch=batch,
            old=old,
            advantages=advantages,
            reference=None if self._reference is None else self._reference.logprobs(batch, temperature),
            temperature=temperature,
        )
        rng = random.Random(f"{config.loop.seed}/{number}")
        return metrics | self._update.learn(lesson, rng) | {Metric.UPDATED: 1.0}

    def networks(self) -> dict[str, Any]:
        return {"actor": self._student.model}

    def state(self) -> dict[str, Any]:
        return {"actor": self._update.descent.state()}

    def load(self, state: dict[str, Any]) -> None:
        self._update.descent.load(state["actor"])

    def write(self, folder: Path) -> None:
        lora = self.config.lora
        write_student(self._student, folder / "actor", is_merged=lora is None or lora.is_merged)
