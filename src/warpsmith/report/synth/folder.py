"""Where each step of synthesis leaves what it made."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Step(StrEnum):
    """The verbs of `warpsmith synth` that make something, in order."""

    CRAWL = "crawl"
    COMPOSE = "compose"
    FILTER = "filter"
    DECONTAMINATE = "decontaminate"


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder, in which each step reads what the last one left."""

    path: Path

    @property
    def seeds(self) -> Path:
        return self.path / "seeds.json"

    @property
    def composed(self) -> Path:
        return self.path / "composed" / "tasks.parquet"

    @property
    def filter_state(self) -> Path:
        """Outcomes as they are found: what a filter that was killed goes on from."""
        return self.path / "filter"

    @property
    def funnel(self) -> Path:
        return self.path / "funnel.json"

    @property
    def filtered(self) -> Path:
        return self.path / "filtered" / "tasks.parquet"

    @property
    def recheck(self) -> Path:
        return self.path / "recheck.json"

    @property
    def similarity(self) -> Path:
        return self.path / "similarity.json"

    @property
    def clean(self) -> Path:
        return self.path / "clean" / "tasks.parquet"
