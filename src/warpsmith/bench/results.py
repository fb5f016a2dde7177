"""What a bench leaves for others: a page, one JSON document, and KernelBench's own files on request."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpsmith.bench.comparison import CHANGES, Comparison, Side
from warpsmith.bench.folder import Kept
from warpsmith.bench.page import page
from warpsmith.bench.published import beside
from warpsmith.bench.record import TaskRecord
from warpsmith.bench.rows import row_data
from warpsmith.bench.totals import Totals, totals
from warpsmith.core import UsageError
from warpsmith.core.codec import to_json
from warpsmith.report.kernelbench import Sample, add
from warpsmith.tasks.store.files import replacing

PAGE = "bench.html"
RESULTS = "results.json"
EVAL_RESULTS = "eval_results.json"
KERNELBENCH = "kernelbench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """A bench, summed up."""

    kept: Kept
    lines: tuple[Totals, ...]

    @classmethod
    def of(cls, kept: Kept) -> "Results":
        """Raises UsageError if its records do not belong into one table."""
        return cls(kept=kept, lines=totals(kept.plan.names, kept.records))

    @property
    def with_published(self) -> bool:
        """Others' figures are of KernelBench and of GPUs; beside a modelled time they say nothing."""
        return self.kept.plan.suite == KERNELBENCH and self.kept.plan.device_kind == "cuda"

    def data(self) -> dict[str, Any]:
        """For programs: everything but raw samples, which lie in the records."""
        groups = [line.name for line in self.lines if line.has_degenerate]
        shown = [other for group in groups for other in beside(groups, group)] if self.with_published else []
        return {
            "folder": self.kept.folder,
            "plan": self.kept.plan,
            "totals": self.lines,
            "published": shown,
            "damaged": self.kept.damaged,
            "tasks": [row_data(record) for record in self.kept.records],
        }

    def write(self) -> tuple[Path, Path]:
        """The page and the document, in the bench's folder. Raises InfraError if they cannot be written."""
        kept = self.kept
        html, document = kept.folder / PAGE, kept.folder / RESULTS
        with replacing(html) as new:
            text = page(kept.plan, self.lines, kept.records, with_published=self.with_published)
            new.write_text(text, encoding="utf-8")
        with replacing(document) as new:
            new.write_text(to_json(self.data(), indent=1) + "\n", encoding="utf-8")
        return html, document


def write_eval_results(folder: Path, records: Sequence[TaskRecord], device_name: str) -> tuple[Path, ...]:
    """A level's eval_results.json in `folder`/level<n>, since KernelBench counts problems a level.

    Raises UsageError if no task is a problem of KernelBench's, or a file is there that is none of these.
    """
    files: dict[Path, None] = {}
    for record in records:
        level, problem = record.name.level, record.name.problem
        if level is not None and problem is not None and record.verdict is not None:
            file = folder / f"level{level}" / EVAL_RESULTS
            add(file, Sample(problem_id=problem, sample_id=0), record.verdict, device_name)
            files[file] = None
    if not files:
        raise UsageError(
            f"no task here is a problem of KernelBench's with a verdict: there is no {EVAL_RESULTS}"
        )
    return tuple(files)


def side_of(kept: Kept) -> Side:
    """A bench as one side of a comparison."""
    plan = kept.plan
    return Side(
        folder=str(kept.folder),
        mode=plan.mode,
        device=plan.device,
        policy=plan.policy,
        records=kept.records,
    )


def comparison_data(found: Comparison) -> dict[str, Any]:
    """For programs: the tasks of each kind of change, by key."""
    pairs = {
        change: [
            {"key": pair.after.name.key, "task_id": pair.after.name.task_id}
            | {"before": row_data(pair.before), "after": row_data(pair.after)}
            for pair in getattr(found, change)
        ]
        for change in CHANGES
    }
    return {
        "before": found.before.folder,
        "after": found.after.folder,
        "mode": found.after.mode,
        "device": found.after.device,
        **pairs,
        "only_before": [record.name.key for record in found.only_before],
        "only_after": [record.name.key for record in found.only_after],
    }
