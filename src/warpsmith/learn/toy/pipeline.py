"""All stages in a row, each beginning with what the last one wrote: the wiring diagram of this room."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from warpsmith.learn.engines.local import critic as critics
from warpsmith.learn.engines.local.grpo import Grpo
from warpsmith.learn.engines.local.loop import Trained, train
from warpsmith.learn.engines.local.ppo import Ppo
from warpsmith.learn.engines.local.sft import Sft
from warpsmith.learn.engines.local.stage import Stage
from warpsmith.learn.engines.local.student import student_of
from warpsmith.learn.engines.local.valuation import Valuation
from warpsmith.learn.metrics import Metrics
from warpsmith.learn.recipes import toy
from warpsmith.learn.toy.tiny import write_tiny
from warpsmith.learn.toy.tuning import Tuning, taught
from warpsmith.learn.trajectory import Sample, filtered, read_samples, write_samples

Told = Callable[[str, int, Metrics], None]

NUM_TAUGHT = 256
NUM_ROLLOUTS = 3  # steps' worth of samples that the critic is fitted to


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """How long each stage takes."""

    sft: int = 40
    value: int = 60
    ppo: int = 30
    grpo: int = 20


def pipeline(
    folder: Path, steps: Steps | None = None, *, seed: int = 0, tell: Told | None = None
) -> dict[str, Trained]:
    """Rejection fine-tuning, value pre-training, PPO, GRPO; a stage that had an alarm is the last.

    A folder in which an earlier call was stopped is gone on with.
    """
    steps = steps or Steps()
    base = folder / "base"
    if not (base / "tokenizer.json").is_file():
        write_tiny(base, seed=seed)
    told: dict[str, Trained] = {}

    def run(stage: Stage) -> Path | None:
        inform = tell or (lambda _stage, _step, _metrics: None)
        told[stage.name] = train(
            stage, folder / stage.name, lambda step, metrics: inform(stage.name, step, metrics)
        )
        return told[stage.name].final

    student = student_of(base)
    lessons = filtered(taught(student.template, NUM_TAUGHT, seed)).samples
    tuned = run(Sft(student, lessons, toy.sft(steps.sft, seed)))
    if tuned is None:
        return told
    critic = run(
        Valuation(
            student_of(tuned / "actor"), recorded(tuned / "actor", folder, seed), toy.value(steps.value, seed)
        )
    )
    if critic is None:
        return told
    student = student_of(tuned / "actor")
    expecting = critics.read(critic / "critic", student.device)
    acted = run(Ppo(student, expecting, Tuning(template=student.template), toy.ppo(steps.ppo, seed)))
    if acted is None:
        return told
    student = student_of(acted / "actor")
    run(Grpo(student, Tuning(template=student.template), toy.grpo(steps.grpo, seed)))
    return told


def recorded(actor: Path, folder: Path, seed: int) -> tuple[Sample, ...]:
    """What the imitator does by itself, drawn once and kept in a file."""
    path = folder / "rollouts.jsonl"
    if not path.is_file():
        student = student_of(actor)
        source = Tuning(template=student.template)
        sampling = replace(toy.SAMPLING, seed=seed)
        write_samples(
            (
                sample
                for step in range(1, NUM_ROLLOUTS + 1)
                for sample in source.rollouts(student.engine(), sampling, step)
            ),
            path,
        )
    return tuple(sample for sample in read_samples(path) if sample.reward is not None)
