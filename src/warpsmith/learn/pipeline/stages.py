"""The stage of training that a part stands for, with what it begins with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warpsmith.learn.engines.local import critic as critics
from warpsmith.learn.engines.local.grpo import Grpo
from warpsmith.learn.engines.local.keeping import FINAL, RunFolder
from warpsmith.learn.engines.local.loop import Trained
from warpsmith.learn.engines.local.ppo import Ppo
from warpsmith.learn.engines.local.sft import Sft
from warpsmith.learn.engines.local.stage import Stage
from warpsmith.learn.engines.local.student import Student
from warpsmith.learn.engines.local.valuation import Valuation
from warpsmith.learn.pipeline.parts import Contrasted, Imitated, Practised, Valued
from warpsmith.learn.recipes.base import Work
from warpsmith.learn.recipes.fitting import suited
from warpsmith.learn.sources import Source
from warpsmith.learn.trajectory import Sample, filtered

Training = Imitated | Valued | Practised | Contrasted


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplies:
    """What earlier parts left, and where samples come from."""

    student: Student
    samples: Callable[[Sequence[str]], list[Sample]]  # of parts, those that have a reward
    critic: Callable[[str], Path]  # of a part
    source: Callable[[Work, int], tuple[Source, str]]


def stage_of(part: Training, supplies: Supplies) -> Stage:
    """Raises UsageError for samples or a critic that don't fit the student."""
    student = supplies.student
    kind = student.device.type
    match part:
        case Imitated(recipe=imitating):
            samples = supplies.samples(part.data)
            if imitating.above is not None:
                samples = list(filtered(samples, above=imitating.above).samples)
            memory = suited(imitating.stage.memory, kind)
            return Sft(student, samples, replace(imitating.stage, memory=memory))
        case Valued(recipe=valuing):
            memory = suited(valuing.stage.memory, kind)
            return Valuation(student, supplies.samples(part.data), replace(valuing.stage, memory=memory))
        case Practised(recipe=practising):
            critic: Any = critics.read(supplies.critic(part.critic), student.device)
            source, data = supplies.source(practising.work, practising.stage.loop.seed)
            memory = suited(practising.stage.memory, kind)
            ppo = Ppo(student, critic, source, replace(practising.stage, memory=memory))
            ppo.data = data
            return ppo
        case Contrasted(recipe=contrasting):
            source, data = supplies.source(contrasting.work, contrasting.stage.loop.seed)
            memory = suited(contrasting.stage.memory, kind)
            grpo = Grpo(student, source, replace(contrasting.stage, memory=memory))
            grpo.data = data
            return grpo


def finished_in(folder: Path, part: Training) -> Trained | None:
    """A training that came to its end, without reading its model."""
    final = folder / FINAL
    if not final.is_dir():
        return None
    history = tuple(RunFolder(folder).history())
    if len(history) < part.recipe.stage.loop.steps:
        return None
    return Trained(
        folder=folder, num_steps=len(history), history=history, final=final, last_saved=len(history)
    )
