"""From what the steps left in a folder to the facts of a report. Any of it may be missing."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import UsageError
from warpsmith.report.synth.composition import composition, libraries, num_unknown, times
from warpsmith.report.synth.facts import Counted, Facts, Likeness, TaskSet
from warpsmith.report.synth.folder import Folder, Step
from warpsmith.report.synth.funnel import narrowings
from warpsmith.report.synth.histogram import unit_histogram
from warpsmith.report.synth.records import Decontamination, Filtering, Rechecking, read, read_state
from warpsmith.report.synth.words import plural
from warpsmith.tasks.store import About, Store
from warpsmith.tasks.synth.base import Made
from warpsmith.tasks.synth.seeds import Crawled, read_seeds


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What is in a folder, read; None is what is not there."""

    crawled: Crawled | None
    composed: tuple[Made, ...] | None
    filtering: Filtering | None
    filtered: tuple[Made, ...] | None
    recheck: Rechecking | None
    decontamination: Decontamination | None
    clean: tuple[Made, ...] | None
    abouts: dict[Step, About]  # of the stores that are there

    @classmethod
    def of(cls, folder: Folder) -> "Left":
        """Raises UsageError, one line, for a folder or a file that is damaged or no step's."""
        if not folder.path.is_dir():
            raise UsageError(f"{folder.path} is no folder; `warpsmith synth crawl` makes it, or name another")
        stores = {
            Step.COMPOSE: folder.composed, Step.FILTER: folder.filtered, Step.DECONTAMINATE: folder.clean
        }  # fmt: skip
        funnel = read(Filtering, folder.funnel, Step.FILTER)
        return cls(
            crawled=read_seeds(folder.seeds) if folder.seeds.exists() else None,
            composed=_rows(folder.composed),
            filtering=funnel or read_state(folder.filter_state),
            filtered=_rows(folder.filtered),
            recheck=read(Rechecking, folder.recheck, Step.FILTER),
            decontamination=read(Decontamination, folder.similarity, Step.DECONTAMINATE),
            clean=_rows(folder.clean),
            abouts={step: Store(path).about() for step, path in stores.items() if path.exists()},
        )

    @property
    def sets(self) -> dict[Step, tuple[Made, ...]]:
        """The stores that are there, in the order of the steps."""
        rows = {Step.COMPOSE: self.composed, Step.FILTER: self.filtered, Step.DECONTAMINATE: self.clean}
        return {step: found for step, found in rows.items() if found is not None}

    @property
    def not_run(self) -> tuple[Step, ...]:
        done = {
            Step.CRAWL: self.crawled,
            Step.COMPOSE: self.composed,
            Step.FILTER: self.filtering if self.filtered is None else self.filtered,
            Step.DECONTAMINATE: self.decontamination if self.clean is None else self.clean,
        }
        return tuple(step for step, found in done.items() if found is None)


def facts_of(folder: Path) -> Facts:
    """All that is known of what was synthesised in `folder`. Raises UsageError as `Left.of`."""
    left = Left.of(Folder(folder))
    operators = () if left.crawled is None else left.crawled.seeds
    reasons = {} if left.crawled is None else left.crawled.reasons()
    step, rows = next(reversed(left.sets.items()), (None, ()))
    began = None if step is Step.COMPOSE else left.composed
    filtering = left.filtering
    suspicious = {} if filtering is None else filtering.suspicious
    return Facts(
        folder=str(folder),
        not_run=left.not_run,
        notes=tuple(_notes(left)),
        skipped=tuple(Counted(name=reason.value, num=num) for reason, num in reasons.items()),
        sets=tuple(_task_set(step, rows, left.abouts[step]) for step, rows in left.sets.items()),
        narrowings=narrowings(filtering, left.decontamination),
        suspicious=tuple(Counted(name=name, num=num) for name, num in suspicious.items()),
        libraries=libraries(operators, rows),
        composition=None if step is None else composition(step, rows, began),
        times=None if step is None else times(step, rows, None if filtering is None else filtering.band),
        likeness=None if left.decontamination is None else _likeness(left.decontamination),
        recheck=left.recheck,
    )


def _rows(path: Path) -> tuple[Made, ...] | None:
    return tuple(Store(path).rows()) if path.exists() else None


def _task_set(step: Step, rows: tuple[Made, ...], about: About) -> TaskSet:
    return TaskSet(
        step=step,
        num_tasks=len(rows),
        device=about.device,
        licence=about.licence,
        versions=dict(sorted(about.versions.items())),
    )


def _likeness(decontamination: Decontamination) -> Likeness:
    against = decontamination.against
    is_compared = any(against.histogram)
    return Likeness(
        threshold=against.thresholds.structure,
        benchmarks=decontamination.benchmarks,
        num_unread=len(against.unread_others) + sum(one.num_broken for one in decontamination.benchmarks),
        num_compared=sum(against.histogram),
        histogram=unit_histogram(against.histogram) if is_compared else None,
        top=against.top,
    )


def _notes(left: Left) -> Iterator[str]:
    """What a reader must know before comparing numbers of different steps."""
    filtering = left.filtering
    if filtering is not None and not filtering.is_finished:
        yield "The filter has not come to its end: it was stopped, or is running."
    if filtering is not None and left.composed is not None:
        decided = filtering.num_kept + len(filtering.rejected) + len(filtering.undecided)
        if (num_waiting := len(left.composed) - filtering.num_repeated - decided) > 0:
            yield f"Not filtered yet: {plural(num_waiting, 'composed task')}."
    if left.decontamination is not None and left.filtered is not None:
        num_compared = left.decontamination.against.num_tasks
        if num_compared != len(left.filtered):
            yield (
                f"Compared with the benchmark: {plural(num_compared, 'task')}, but {len(left.filtered)} are "
                f"filtered now; run `warpsmith synth decontaminate` again."
            )
    if left.crawled is not None and left.sets:
        rows = next(reversed(left.sets.values()))
        if num := num_unknown(left.crawled.seeds, rows):
            yield (
                f"Of operators that are not in seeds.json, whose licence is not known here: "
                f"{plural(num, 'task')}."
            )
