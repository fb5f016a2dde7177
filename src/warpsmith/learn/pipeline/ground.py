"""Where a row of stages takes place."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from warpsmith.learn.evaluation.attempts import Attempt
from warpsmith.learn.pipeline.parts import Trial
from warpsmith.learn.recipes.base import Work
from warpsmith.learn.sources import Source
from warpsmith.learn.trajectory import Sample

if TYPE_CHECKING:
    from warpsmith.learn.engines.local.student import Student


class Ground(Protocol):
    """Tasks, and whoever judges. What is written goes under the given folder; calls can be repeated."""

    @property
    def told(self) -> str:
        """What a run depends on beside its parts, in words that change if any of it does."""
        ...

    def begin(self) -> str:
        """What was made sure of before any training, in a line. Raises UsageError if it does not hold."""
        ...

    def base(self, folder: Path) -> Path:
        """The model to begin with, written to `folder` if there is none."""
        ...

    def lessons(self, student: "Student", trial: Trial, folder: Path) -> Sequence[Sample]:
        """What a teacher does on the training tasks, as `student` reads it."""
        ...

    def tried(
        self, student: "Student", trial: Trial, split: str, folder: Path
    ) -> tuple[Sequence[Attempt], Sequence[Sample]]:
        """What a student does on the tasks of a split."""
        ...

    def source(self, student: "Student", work: Work, runs: Path, seed: int) -> tuple[Source, str]:
        """What a stage draws from, and the words for it: see Stage.data."""
        ...
