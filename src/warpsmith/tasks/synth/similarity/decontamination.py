"""Which tasks of a set are too close to a benchmark's, to each other, or to those of another split."""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from warpsmith.core import Task, TaskError
from warpsmith.tasks.synth.similarity.comparison import ROUNDING, Rows, rows
from warpsmith.tasks.synth.similarity.fingerprint import Fingerprint, fingerprint

NUM_BINS = 20
NUM_TOP = 20


class Measure(StrEnum):
    """How two tasks were compared, the most certain first."""

    REFERENCE = "reference hash"  # the same source but for names and sizes
    STRUCTURE = "structure"  # `kernel.py`
    TOKENS = "tokens"  # `tokens.py`


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From which similarity on a task is dropped, inclusive; CUDA Agent's pipeline drops above 0.9."""

    structure: float = 0.9
    tokens: float = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """One task beside another."""

    task_id: str
    digest: str  # Task.digest
    other_id: str
    other_digest: str
    measure: Measure
    similarity: float  # [0, 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A task that is too close to another."""

    task: Task
    neighbour: Neighbour  # the nearest by the measure that dropped it


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A task that could not be compared."""

    task_id: str
    digest: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decontaminated:
    """What is left of a set, and everything that was seen on the way."""

    thresholds: Thresholds
    kept: tuple[Task, ...]
    dropped: tuple[Dropped, ...]
    unread: tuple[Unread, ...]  # of the set: neither kept nor dropped
    unread_others: tuple[Unread, ...]  # of what it was held against: nothing was compared with these
    nearest: tuple[Neighbour, ...]  # by structure, of every task that was compared
    top: tuple[Neighbour, ...]  # the NUM_TOP closest pairs by structure

    @property
    def histogram(self) -> tuple[int, ...]:
        """How many tasks have their maximum similarity in [i, i + 1) / NUM_BINS; 1.0 is in the last."""
        counts = [0] * NUM_BINS
        for one in self.nearest:
            counts[min(NUM_BINS - 1, int(one.similarity * NUM_BINS + 1e-6))] += 1
        return tuple(counts)


def decontaminated(
    tasks: Iterable[Task | Fingerprint],
    against: Iterable[Task | Fingerprint],
    thresholds: Thresholds = Thresholds(),
) -> Decontaminated:
    """`tasks` without those that are too close to one of `against`: a benchmark, or the other split.

    Whoever compares one set several times takes fingerprints first: reading is what costs (4 ms a task).
    """
    ours, unread = _read(tasks)
    others, unread_others = _read(against)
    hashes = {one.reference: at for at, one in reversed(list(enumerate(others)))}
    found = _Found()
    everyone = np.ones(len(others), dtype=np.bool_)
    for row in rows(ours, others):
        found.note(row, len(others))
        same = hashes.get(row.mine.reference)
        found.decide(row, same, everyone, thresholds)
    if not others:
        found.kept = list(ours)
    return found.result(thresholds, unread, unread_others)


def without_near_duplicates(
    tasks: Iterable[Task | Fingerprint], thresholds: Thresholds = Thresholds()
) -> Decontaminated:
    """`tasks` without those that are too close to an earlier one that is kept. `nearest` looks back alone."""
    ours, unread = _read(tasks)
    found = _Found()
    first: dict[str, int] = {}
    is_kept = np.zeros(len(ours), dtype=np.bool_)
    for row in rows(ours, ours):
        found.note(row, row.at)
        is_kept[row.at] = found.decide(row, first.get(row.mine.reference), is_kept, thresholds)
        if is_kept[row.at]:
            first.setdefault(row.mine.reference, row.at)
    return found.result(thresholds, unread, ())


class _Found:
    """What has been seen so far."""

    def __init__(self) -> None:
        self.kept: list[Fingerprint] = []
        self.dropped: list[Dropped] = []
        self.nearest: list[Neighbour] = []
        self._top: list[tuple[float, int, int, Neighbour]] = []

    def note(self, row: Rows, num_others: int) -> None:
        """Nearest neighbour and closest pairs among the first `num_others`."""
        near = row.structure[:num_others]
        if not near.size:
            return
        self.nearest.append(_neighbour(row, int(near.argmax()), Measure.STRUCTURE, float(near.max())))
        floor = self._top[0][0] if len(self._top) == NUM_TOP else -1.0
        for at in np.argsort(-near, kind="stable")[:NUM_TOP]:
            value = float(near[at])
            if value <= floor and len(self._top) == NUM_TOP:
                break
            entry = (value, -row.at, -int(at), _neighbour(row, int(at), Measure.STRUCTURE, value))
            (heapq.heappush if len(self._top) < NUM_TOP else heapq.heappushpop)(self._top, entry)

    def decide(
        self, row: Rows, same: int | None, among: "np.typing.NDArray[np.bool_]", thresholds: Thresholds
    ) -> bool:
        """Whether the row's task is kept: none of those in `among` is too close."""
        neighbour = _too_close(row, same, among, thresholds)
        if neighbour is None:
            self.kept.append(row.mine)
        else:
            self.dropped.append(Dropped(task=row.mine.task, neighbour=neighbour))
        return neighbour is None

    def result(
        self, thresholds: Thresholds, unread: tuple[Unread, ...], unread_others: tuple[Unread, ...]
    ) -> Decontaminated:
        return Decontaminated(
            thresholds=thresholds,
            kept=tuple(one.task for one in self.kept),
            dropped=tuple(self.dropped),
            unread=unread,
            unread_others=unread_others,
            nearest=tuple(self.nearest),
            top=tuple(entry[-1] for entry in sorted(self._top, reverse=True)),
        )


def _too_close(
    row: Rows, same: int | None, among: "np.typing.NDArray[np.bool_]", thresholds: Thresholds
) -> Neighbour | None:
    if same is not None:
        return _neighbour(row, same, Measure.REFERENCE, 1.0)
    near = np.where(among, row.structure, -1.0)
    at = int(near.argmax())
    if near[at] >= thresholds.structure - ROUNDING:
        return _neighbour(row, at, Measure.STRUCTURE, float(near[at]))
    tokens = row.tokens(thresholds.tokens, among)
    return _neighbour(row, tokens[0], Measure.TOKENS, tokens[1]) if tokens is not None else None


def _neighbour(row: Rows, at: int, measure: Measure, value: float) -> Neighbour:
    task, other = row.mine.task, row.others[at].task
    return Neighbour(
        task_id=task.task_id,
        digest=task.digest,
        other_id=other.task_id,
        other_digest=other.digest,
        measure=measure,
        similarity=round(value, 6),
    )


def _read(tasks: Iterable[Task | Fingerprint]) -> tuple[Sequence[Fingerprint], tuple[Unread, ...]]:
    read: list[Fingerprint] = []
    unread: list[Unread] = []
    for task in tasks:
        if isinstance(task, Fingerprint):
            read.append(task)
            continue
        try:
            read.append(fingerprint(task))
        except TaskError as error:
            unread.append(Unread(task_id=task.task_id, digest=task.digest, reason=str(error)))
    return read, tuple(unread)
