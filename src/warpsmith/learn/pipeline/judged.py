"""Real tasks and a real judge as a ground for pipelines."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from warpsmith.agent.optimize import OptimizeConfig
from warpsmith.core import Candidate
from warpsmith.core.codec import to_json
from warpsmith.learn.acting import Workplace
from warpsmith.learn.acting.suites import rows_of, tasks_of
from warpsmith.learn.evaluation.attempts import Attempt
from warpsmith.learn.evaluation.rolling import TeacherRolling, student_rolling
from warpsmith.learn.evaluation.rollouts import Plan, Rolling, Rollouts, roll
from warpsmith.learn.evaluation.written import WrittenRolling
from warpsmith.learn.pipeline.parts import Trial
from warpsmith.learn.pipeline.separation import separated
from warpsmith.learn.recipes.base import Suite, Work
from warpsmith.learn.sources import Source
from warpsmith.learn.trajectory import Sample
from warpsmith.policy import PolicyConfig, make_policy
from warpsmith.tasks.store import Store
from warpsmith.tasks.synth.base import Made

if TYPE_CHECKING:
    from warpsmith.learn.engines.local.student import Student

SPLITS = ("train", "validation", "test")
TEACHER = "builtin"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedGround:
    """A Ground. The store has all three splits; trainings work on the first of them."""

    store: Path
    config: OptimizeConfig  # whose device judges
    model: Path | None = None  # to begin with; None: a tiny one is made
    seed: int = 0  # of the tiny one
    programs: Mapping[str, Candidate] | None = None  # to teach, by task; None: what the builtin policy writes

    @property
    def told(self) -> str:
        digests = "".join(sorted(Store(self.store).ids()))
        return to_json(
            {
                "tasks": hashlib.sha256(digests.encode()).hexdigest(),
                "device": self.config.device.name,
                "model": "tiny" if self.model is None else str(self.model),
                "seed": self.seed,
                "programs": sorted(one.digest for one in (self.programs or {}).values()),
            }
        )

    def begin(self) -> str:
        return str(separated({split: self._rows(split) for split in SPLITS}))

    def base(self, folder: Path) -> Path:
        if self.model is not None:
            return self.model
        if not (folder / "tokenizer.json").is_file():
            from warpsmith.learn.toy.tiny import write_reader

            texts = [row.task.source for row in self._rows("train")]
            for candidate in (self.programs or {}).values():
                texts += [text for _, text in candidate.files]
            write_reader(folder, texts, seed=self.seed)
        return folder

    def lessons(self, student: "Student", trial: Trial, folder: Path) -> Sequence[Sample]:
        work = self._work(trial, "train")
        if self.programs is not None:
            written = WrittenRolling(programs=self.programs, work=work, config=self.config, reader=student)
            return list(self._rolled("written", work, trial, written, folder).samples)
        asked = PolicyConfig(gpu=self.config.device.gpu)
        rolling = TeacherRolling(
            made=lambda _number: make_policy(TEACHER, asked),
            work=work,
            config=replace(self.config, policy=TEACHER, policy_config=asked),
            reader=student,
        )
        return list(self._rolled(TEACHER, work, trial, rolling, folder).samples)

    def tried(
        self, student: "Student", trial: Trial, split: str, folder: Path
    ) -> tuple[Sequence[Attempt], Sequence[Sample]]:
        work = self._work(trial, split)
        rolling = student_rolling(student, work, trial.sampling, self.config)
        found = self._rolled(f"local:{student.folder}", work, trial, rolling, folder)
        return found.attempts, list(found.samples)

    def source(self, student: "Student", work: Work, runs: Path, seed: int) -> tuple[Source, str]:
        suite = replace(work.suite, store=self.store, split="train")
        place = Workplace(
            tasks=tasks_of(suite, self.config.device.kind),
            work=replace(work, suite=suite),
            config=self.config,
            runs=runs,
            seed=seed,
        )
        return place.source(student), place.data

    def _rows(self, split: str) -> Sequence[Made]:
        return rows_of(Suite(store=self.store, split=split))

    def _work(self, trial: Trial, split: str) -> Work:
        return Work(
            suite=Suite(store=self.store, split=split, limit=trial.limit),
            reward=trial.reward,
            manner=trial.manner,
            budget=trial.budget,
            tasks_per_step=trial.tasks_at_once,
            samples_per_task=trial.tries,
        )

    def _rolled(self, policy: str, work: Work, trial: Trial, rolling: Rolling, folder: Path) -> Rollouts:
        tasks = tasks_of(work.suite, self.config.device.kind)
        plan = Plan(
            policy=policy,
            work=work,
            sampling=trial.sampling,
            device=self.config.device.name,
            tasks=tuple(task.digest for task in tasks),
        )
        return roll(plan, tasks, rolling, folder)
