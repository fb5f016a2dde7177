"""All that a report says of a folder of synthesised tasks: numbers and names, no words around them."""

from dataclasses import dataclass

from warpsmith.report.synth.folder import Step
from warpsmith.report.synth.histogram import Histogram, Quartiles
from warpsmith.report.synth.records import Benchmark, Rechecking
from warpsmith.tasks.synth.similarity import Neighbour


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many of what."""

    name: str
    num: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """Tasks that went out for one reason."""

    reason: str
    num: int
    example: str  # one of them, and what was found


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """One look at all tasks that are left, and which of them go."""

    step: Step
    name: str
    num_in: int
    losses: tuple[Loss, ...]  # the most frequent first

    @property
    def num_out(self) -> int:
        return self.num_in - sum(loss.num for loss in self.losses)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSet:
    """One store."""

    step: Step  # that wrote it
    num_tasks: int
    device: str  # on which tasks were timed, or for which they were sized
    licence: str
    versions: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Where operators come from."""

    name: str
    version: str
    licence: str
    num_operators: int  # that a crawl found
    num_tasks: int  # of the last set, that use one of them


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthShare:
    """Tasks of one depth."""

    name: str  # "torch ×2", "transformers"
    num: int
    share: float  # of the set
    paper_share: float | None  # of CUDA-Agent-Ops-6K; None: it has no such tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class CurriculumCount:
    """Tasks of one curriculum, by split."""

    name: str
    num: int
    by_split: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCount:
    """Tasks that use an operator."""

    name: str
    num: int
    num_composed: int | None  # before filters; None: those tasks are not there


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """What the last set is made of."""

    step: Step  # that wrote it
    num_tasks: int
    by_depth: tuple[DepthShare, ...]
    by_curriculum: tuple[CurriculumCount, ...]
    splits: tuple[str, ...]
    num_operators: int
    operators: tuple[OperatorCount, ...]  # the most used


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """How long eager takes on one call, in ms."""

    step: Step  # whose tasks
    is_measured: bool  # else modelled
    num_tasks: int
    num_without: int  # tasks of which no such time is known
    band_ms: tuple[float, float] | None  # that the filter asked for
    quartiles_ms: Quartiles
    histogram_ms: Histogram


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """How close tasks are to a benchmark's. Of every task that was compared, what it is most like counts."""

    threshold: float  # from which on a task goes
    benchmarks: tuple[Benchmark, ...]
    num_unread: int  # of the benchmarks' tasks and rows, with which nothing was compared
    num_compared: int
    histogram: Histogram | None  # None: nothing was compared
    top: tuple[Neighbour, ...]  # the closest pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is None or empty has not been done."""

    folder: str
    not_run: tuple[Step, ...]
    notes: tuple[str, ...]  # what does not fit together
    skipped: tuple[Counted, ...]  # names that are no operators, by reason
    sets: tuple[TaskSet, ...]  # in the order of the steps
    narrowings: tuple[Narrowing, ...]
    suspicious: tuple[Counted, ...]  # findings of tasks that the filter kept
    libraries: tuple[Library, ...]
    composition: Composition | None
    times: Times | None
    likeness: Likeness | None
    recheck: Rechecking | None
