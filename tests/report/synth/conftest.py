"""A folder as the steps of synthesis leave it, each step put there by itself."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from warpsmith.core import Task
from warpsmith.core.codec import to_json
from warpsmith.report.synth.folder import Folder
from warpsmith.report.synth.records import (
    Benchmark,
    Comparison,
    Decontamination,
    Filtering,
    Rechecking,
    as_written,
)
from warpsmith.tasks.store import About, Store
from warpsmith.tasks.synth.base import Curriculum, Kind, Made, Provenance
from warpsmith.tasks.synth.filters import (
    Band,
    Facts,
    Funnel,
    Kept,
    Reason,
    Rejected,
    Stage,
    Undecided,
    facts_as_text,
)
from warpsmith.tasks.synth.seeds import Crawled, Operator, Skipped, write_seeds
from warpsmith.tasks.synth.seeds.outcome import Reason as NoSeed
from warpsmith.tasks.synth.similarity import Neighbour, Thresholds
from warpsmith.tasks.synth.similarity.decontamination import Measure

ABOUT = About(licence="Apache-2.0", versions={"torch": "2.13.0"})
DEVICE = "NVIDIA H200"


@dataclass(frozen=True)
class Steps:
    """Writes what a step leaves, and makes what goes into it."""

    path: Path

    @property
    def folder(self):
        return Folder(self.path)

    def crawl(self, *names, library="torch", licence="BSD-3-Clause"):
        self.path.mkdir(exist_ok=True)
        seeds = [
            Operator(
                provenance=Provenance(library=library, version="2.13.0", licence=licence, name=name),
                kind=Kind.ELEMENTWISE,
                patterns=(),
            )
            for name in names
        ]
        skipped = (Skipped(name="torch.rand", reason=NoSeed.RANDOM),)
        write_seeds(Crawled(seeds=tuple(seeds), skipped=skipped), self.folder.seeds)

    def compose(self, *rows):
        Store(self.folder.composed).write(rows, ABOUT)

    def filter(self, rows, outcomes, **changes):
        """`rows` are kept."""
        self.path.mkdir(exist_ok=True)
        Store(self.folder.filtered).write(rows, replace(ABOUT, device=DEVICE))
        funnel = Funnel(outcomes=tuple(outcomes), **changes)
        record = Filtering.of(funnel, device=DEVICE, band=Band())
        self.folder.funnel.write_text(to_json(as_written(record)))

    def recheck(self, *outcomes, is_as_before=True):
        record = Rechecking.of(Funnel(outcomes=outcomes), device=DEVICE, seed=7, is_as_before=is_as_before)
        self.folder.recheck.write_text(to_json(as_written(record)))

    def decontaminate(self, rows, against, within):
        Store(self.folder.clean).write(rows, replace(ABOUT, device=DEVICE))
        record = Decontamination(
            benchmarks=(Benchmark(suite="kernelbench", num_tasks=270),), against=against, within=within
        )
        self.folder.similarity.write_text(to_json(record))

    @staticmethod
    def made(number, **changes):
        """Two torch operators, of which the first is used by all."""
        task = Task(task_id=f"torch2_{number}", source=f"number = {number}", provenance="tests")
        row = Made(
            task=task,
            operators=("torch.add", f"torch.op{number % 3}"),
            depth=2,
            structure=str(number),
            curriculum=Curriculum.FUSED,
            split="test" if number == 0 else "train",
            source="torch#2",
        )
        return replace(row, **changes)

    @staticmethod
    def timed(row, us, *, measured=True):
        """As the filter keeps it."""
        facts = facts_as_text(Facts(eager_us=us, is_time_modelled=not measured))
        return replace(row, facts={**row.facts, **facts})

    @staticmethod
    def kept(row):
        return Kept(task_id=row.task.task_id, digest=row.task.digest, facts=Facts())

    @staticmethod
    def rejected(row, stage=Stage.TIME, reason=Reason.TOO_FAST, evidence="0.3 ms"):
        return Rejected(
            task_id=row.task.task_id, digest=row.task.digest, stage=stage, reason=reason, evidence=evidence
        )

    @staticmethod
    def undecided(row):
        return Undecided(task_id=row.task.task_id, digest=row.task.digest, why="no memory left")

    @staticmethod
    def neighbour(row, similarity=0.95, other="level1/12_Softmax"):
        return Neighbour(
            task_id=row.task.task_id,
            digest=row.task.digest,
            other_id=other,
            other_digest="d",
            measure=Measure.STRUCTURE,
            similarity=similarity,
        )

    @staticmethod
    def comparison(num_kept, *dropped, histogram=()):
        return Comparison(
            thresholds=Thresholds(), num_kept=num_kept, histogram=histogram, top=dropped, dropped=dropped
        )


@pytest.fixture
def steps(tmp_path):
    return Steps(tmp_path / "synth")
