"""GRPO: samples of one prompt are held against each other, and there is no critic."""

import copy
import random
from pathlib import Path
from typing import Any

import torch

from warpsmith.learn.config import GrpoConfig
from warpsmith.learn.engines.local.actor import Actor, in_parts
from warpsmith.learn.engines.local.batch import Batch
from warpsmith.learn.engines.local.rollout import remembered, rolled, seeded
from warpsmith.learn.engines.local.student import Student, write_student
from warpsmith.learn.engines.local.update import Lesson, PolicyUpdate
from warpsmith.learn.losses.groups import group_advantages
from warpsmith.learn.metrics import Metric, Metrics
from warpsmith.learn.monitors import is_sound
from warpsmith.learn.sources import Source


class Grpo:
    """Each step: groups are drawn and judged, and the actor learns from those whose rewards differ.

    With `update.kl` a copy of the student as it is now is kept as the reference: make this before a run is
    taken up again, with the student that the run began with.
    """

    name = "grpo"

    def __init__(self, student: Student, source: Source, config: GrpoConfig) -> None:
        self.config = config
        self.data = type(source).__name__
        self._student = student
        self._source = source
        self._actor = Actor(student.model, config.memory)
        self._update = PolicyUpdate(self._actor, config.update, config.memory)
        self._sampling = seeded(config.sampling, config.loop.seed)
        self._reference = None
        if config.update.kl > 0.0:
            self._reference = Actor(_frozen(student.model), config.memory)

    def step(self, number: int) -> Metrics:
        config = self.config
        rollout = rolled(self._student, self._source, self._sampling, config.memory, number)
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
            reference=self._referred(batch, temperature),
            temperature=temperature,
        )
        rng = random.Random(f"{config.loop.seed}/{number}")
        return metrics | self._update.learn(lesson, rng) | {Metric.UPDATED: 1.0}

    def _referred(self, batch: Batch, temperature: float) -> torch.Tensor | None:
        reference = self._reference
        if reference is None:
            return None
        memory = self.config.memory
        return in_parts(batch, memory, lambda part: reference.said(part, temperature=temperature).logprobs)

    def networks(self) -> dict[str, Any]:
        return {"actor": self._student.model}

    def state(self) -> dict[str, Any]:
        return {"actor": self._update.descent.state()}

    def load(self, state: dict[str, Any]) -> None:
        self._update.descent.load(state["actor"])

    def write(self, folder: Path) -> None:
        write_student(self._student, folder / "actor")


def _frozen(model: Any) -> Any:
    twin = copy.deepcopy(model)
    for parameter in twin.parameters():
        parameter.requires_grad = False
    return twin
