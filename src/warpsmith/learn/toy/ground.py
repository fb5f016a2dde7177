"""The toy as a ground for whole pipelines: no judge, no GPU, seconds a stage."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from warpsmith.learn.evaluation.attempts import Attempt
from warpsmith.learn.pipeline.parts import Trial
from warpsmith.learn.recipes.base import Work
from warpsmith.learn.rewards import make_rule
from warpsmith.learn.rewards.base import Reward
from warpsmith.learn.sources import Source
from warpsmith.learn.toy.tiny import write_tiny
from warpsmith.learn.toy.tuning import Episode, Tuning, taught
from warpsmith.learn.trajectory import Sample

if TYPE_CHECKING:
    from warpsmith.learn.engines.local.student import Student

NUM_TAUGHT = 256
NUM_ROLLOUTS = 3  # steps' worth of samples of a student's own


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyGround:
    """A Ground. All splits hold the same four tasks: there is nothing to keep apart."""

    seed: int = 0

    @property
    def told(self) -> str:
        return f"toy, seed {self.seed}"

    def begin(self) -> str:
        return "the toy has no tasks that were held back"

    def base(self, folder: Path) -> Path:
        if not (folder / "tokenizer.json").is_file():
            write_tiny(folder, seed=self.seed)
        return folder

    def lessons(self, student: "Student", trial: Trial, folder: Path) -> Sequence[Sample]:  # noqa: ARG002
        return taught(student.template, NUM_TAUGHT, self.seed)

    def tried(
        self,
        student: "Student",
        trial: Trial,
        split: str,  # noqa: ARG002
        folder: Path,  # noqa: ARG002
    ) -> tuple[Sequence[Attempt], Sequence[Sample]]:
        source = Tuning(template=student.template, samples_per_task=trial.tries, rule=make_rule(trial.reward))
        student.model.eval()
        episodes = [
            (step, episode)
            for step in range(1, NUM_ROLLOUTS + 1)
            for episode in source.episodes(student.engine(), trial.sampling, step)
        ]
        attempts = [_attempt(episode) for _, episode in episodes]
        return attempts, [sample for step, episode in episodes for sample in episode.samples(step)]

    def source(self, student: "Student", work: Work, runs: Path, seed: int) -> tuple[Source, str]:  # noqa: ARG002
        source = Tuning(
            template=student.template,
            samples_per_task=work.samples_per_task,
            rule=make_rule(work.reward),
        )
        return source, "Tuning"


def _attempt(episode: Episode) -> Attempt:
    verdict, outcome = episode.best
    return Attempt(
        task_id=episode.task,
        digest=episode.task,
        number=episode.number,
        verdict=verdict,
        reward=outcome.value if isinstance(outcome, Reward) else None,
        num_verdicts=1,
    )
