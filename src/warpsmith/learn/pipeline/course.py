"""A row of stages, carried out part by part; what is finished is not done again.

RUN/pipeline.json       the parts and the ground: the same command goes on, another is refused
RUN/base/               the model to begin with, if the ground makes it
RUN/<part>/             a training's folder, samples, or evaluations
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warpsmith.agent.runs.log import writing
from warpsmith.core import UsageError
from warpsmith.core.codec import to_json
from warpsmith.learn.engines.local.keeping import FINAL
from warpsmith.learn.engines.local.loop import Trained, train
from warpsmith.learn.engines.local.student import Student, student_of
from warpsmith.learn.evaluation.attempts import Attempt, attempts_text, read_attempts
from warpsmith.learn.evaluation.comparison import Comparison, compare
from warpsmith.learn.evaluation.standing import Standing, standing
from warpsmith.learn.metrics import Metrics
from warpsmith.learn.pipeline.choosing import best_of, candidates_of, copied
from warpsmith.learn.pipeline.ground import Ground
from warpsmith.learn.pipeline.parts import (
    BASE,
    Chosen,
    Contrasted,
    Drawn,
    Imitated,
    Part,
    Pipeline,
    Practised,
    Taught,
    Tested,
    Trial,
    Valued,
)
from warpsmith.learn.pipeline.stages import Supplies, Training, finished_in, stage_of
from warpsmith.learn.trajectory import Sample, read_samples, write_samples
from warpsmith.tasks.store.files import replacing

PLAN = "pipeline.json"
SAMPLES = "samples.jsonl"
ATTEMPTS = "attempts.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Who is told how it goes."""

    step: Callable[[str, int, Metrics], None] = lambda _part, _step, _metrics: None
    line: Callable[[str], None] = lambda _line: None


@dataclass(slots=True, kw_only=True)
class Carried:
    """What a row of stages came to. `stopped` is a training that did not come to its end: the last one."""

    folder: Path
    trained: dict[str, Trained] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)  # part -> the student that it chose
    standings: dict[str, dict[str, Standing]] = field(default_factory=dict)  # part -> student -> figures
    gains: dict[str, dict[str, Comparison]] = field(default_factory=dict)  # the same, against the first
    stopped: Trained | None = None


def carry_out(pipeline: Pipeline, ground: Ground, folder: Path, listener: Listener | None = None) -> Carried:
    """Do what is left of a pipeline. One that was stopped or killed goes on where it was.

    Raises:
        UsageError: `folder` holds another one, or the ground's tasks are not kept apart.
        InfraError: the disk refuses, or no judge can be had; what was done is kept.
    """
    told = listener or Listener()
    told.line(ground.begin())
    _begin(pipeline, ground, folder)
    course = _Course(ground=ground, folder=folder, listener=told, carried=Carried(folder=folder))
    for part in pipeline.parts:
        course.do(part)
        if course.carried.stopped is not None:
            break
    return course.carried


def _begin(pipeline: Pipeline, ground: Ground, folder: Path) -> None:
    path, told = folder / PLAN, to_json({"pipeline": pipeline, "ground": ground.told}, indent=1) + "\n"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists():
            if json.loads(path.read_text(encoding="utf-8")) != json.loads(told):
                raise UsageError(f"{folder} holds another pipeline, or other tasks; choose a new folder")
            return
        others = sorted(one.name for one in folder.iterdir())
        if others:
            raise UsageError(f"{folder} holds {', '.join(others[:3])}; choose a new folder for the pipeline")
        with replacing(path) as new:
            new.write_text(told, encoding="utf-8")


@dataclass(slots=True, kw_only=True)
class _Course:
    """A pipeline as it goes."""

    ground: Ground
    folder: Path
    listener: Listener
    carried: Carried

    def do(self, part: Part) -> None:
        match part:
            case Taught():
                self._samples(part.name, lambda: self._taught(part))
            case Drawn():
                self._samples(part.name, lambda: self._drawn(part))
            case Imitated() | Valued() | Practised() | Contrasted():
                self._train(part)
            case Chosen():
                self._choose(part)
            case Tested():
                self._test(part)

    def _samples(self, name: str, made: Callable[[], list[Sample]]) -> None:
        path = self.folder / name / SAMPLES
        if not path.is_file():
            self.listener.line(f"{name}: samples are made")
            samples = made()
            write_samples(samples, path)
            good = sum((sample.reward or 0.0) > 0.0 for sample in samples)
            self.listener.line(f"{name}: {len(samples)} samples, {good} of them earned something")

    def _taught(self, part: Taught) -> list[Sample]:
        return list(self.ground.lessons(self._student(BASE), part.trial, self.folder / part.name / "rolled"))

    def _drawn(self, part: Drawn) -> list[Sample]:
        student = self._student(part.actor)
        folder = self.folder / part.name / "rolled"
        return list(self.ground.tried(student, part.trial, "train", folder)[1])

    def _read(self, names: Sequence[str]) -> list[Sample]:
        """Of earlier parts, those that have a reward."""
        paths = [self.folder / name / SAMPLES for name in names]
        return [sample for path in paths for sample in read_samples(path) if sample.reward is not None]

    def _train(self, part: Training) -> None:
        place = self.folder / part.name
        told = finished_in(place, part)
        if told is None:
            stage = stage_of(part, self._supplies(part))
            told = train(stage, place, lambda step, metrics: self.listener.step(part.name, step, metrics))
        self.carried.trained[part.name] = told
        if told.final is None:
            self.carried.stopped = told

    def _supplies(self, part: Training) -> Supplies:
        student = self._student(part.actor)
        runs = self.folder / f"{part.name}-episodes"
        return Supplies(
            student=student,
            samples=self._read,
            critic=lambda name: self.folder / name / FINAL / "critic",
            source=lambda work, seed: self.ground.source(student, work, runs, seed),
        )

    def _choose(self, part: Chosen) -> None:
        found: dict[str, Standing] = {}
        places: dict[str, Path] = {}
        for name, place in self._candidates(part):
            attempts = self._tried(part.name, name, place, part.trial, "validation")
            found[name], places[name] = standing(attempts), place
        best = best_of(found)
        copied(places[best], self.folder / part.name / FINAL / "actor")
        self.carried.standings[part.name], self.carried.chosen[part.name] = found, best
        self.listener.line(f"{part.name}: {best}, by the validation split")

    def _candidates(self, part: Chosen) -> Iterator[tuple[str, Path]]:
        for name in part.among:
            if name == BASE:
                yield BASE, self._actor(BASE)
            else:
                yield from candidates_of(name, self.folder / name)

    def _test(self, part: Tested) -> None:
        tries: dict[str, tuple[Attempt, ...]] = {}
        for name in part.actors:
            tries[name] = self._tried(part.name, name, self._actor(name), part.trial, "test")
        first, *others = part.actors
        self.carried.standings[part.name] = {name: standing(tried) for name, tried in tries.items()}
        self.carried.gains[part.name] = {name: compare(tries[first], tries[name]) for name in others}

    def _tried(self, part: str, name: str, place: Path, trial: Trial, split: str) -> tuple[Attempt, ...]:
        """Kept in a file, so that no model is read for what is known."""
        folder = self.folder / part / name.replace("/", "-")
        path = folder / ATTEMPTS
        if not path.is_file():
            attempts, _ = self.ground.tried(student_of(place), trial, split, folder / "rolled")
            with writing(folder):
                folder.mkdir(parents=True, exist_ok=True)
                with replacing(path) as new:
                    new.write_text(attempts_text(attempts), encoding="utf-8")
        return tuple(read_attempts(path))

    def _student(self, name: str) -> Student:
        return student_of(self._actor(name))

    def _actor(self, name: str) -> Path:
        if name == BASE:
            return self.ground.base(self.folder / BASE)
        return self.folder / name / FINAL / "actor"
