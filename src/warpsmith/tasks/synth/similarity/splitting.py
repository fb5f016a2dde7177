"""Three sides of a set: to train on, to choose checkpoints by, and to test with.

Tasks that are alike are on one side. Being alike is not transitive and sides are: so what hangs together by
pairs that are alike is one group, and groups are dealt out. A group goes to test, else to validation, if all
of it finds place there. They come in the order of a hash of the seed and of what they hold: the order of the
set changes nothing, and a few tasks more change little.
"""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from warpsmith.core import TaskError, UsageError
from warpsmith.tasks.synth.base import Made
from warpsmith.tasks.synth.similarity.comparison import alike
from warpsmith.tasks.synth.similarity.decontamination import Thresholds, Unread
from warpsmith.tasks.synth.similarity.fingerprint import Fingerprint, fingerprint


class Split(StrEnum):
    """What a task is for."""

    TRAIN = "train"
    VALIDATION = "validation"  # checkpoints are chosen by it
    TEST = "test"  # looked at once, at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """How a set is split. Raises UsageError for shares that leave nothing to train on."""

    validation: float = 0.05  # of all tasks, as near as whole groups come to it
    test: float = 0.10
    seed: int = 0
    thresholds: Thresholds = field(default_factory=Thresholds)  # from which two tasks are alike, inclusive

    def __post_init__(self) -> None:
        shares = (self.validation, self.test)
        if not all(0 <= share < 1 for share in shares) or sum(shares) >= 1:
            raise UsageError(
                f"shares of validation and test are from 0 to under 1 together; {shares} are not"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Divided:
    """A set in the order in which it came, each task with its side."""

    rows: tuple[Made, ...]
    groups: tuple[int, ...]  # of each row; equal for rows that had to be on one side
    unread: tuple[Unread, ...]  # cannot be compared, so it is on no side and not among `rows`


def divided(made: Iterable[Made], splitting: Splitting = Splitting()) -> Divided:
    """`made` with its sides: no task is alike to one of another side. Sides it had before do not count."""
    kept, prints, unread = _read(made)
    groups = _groups(prints, splitting.thresholds)
    members: dict[int, list[int]] = {}
    for at, group in enumerate(groups):
        members.setdefault(group, []).append(at)
    sides = _dealt({group: [prints[at] for at in ats] for group, ats in members.items()}, splitting)
    return Divided(
        rows=tuple(replace(row, split=sides[group]) for row, group in zip(kept, groups, strict=True)),
        groups=groups,
        unread=unread,
    )


def _read(made: Iterable[Made]) -> tuple[list[Made], list[Fingerprint], tuple[Unread, ...]]:
    kept: list[Made] = []
    prints: list[Fingerprint] = []
    unread: list[Unread] = []
    for row in made:
        task = row.task
        try:
            prints.append(fingerprint(task))
        except TaskError as error:
            unread.append(Unread(task_id=task.task_id, digest=task.digest, reason=str(error)))
        else:
            kept.append(row)
    return kept, prints, tuple(unread)


def _groups(prints: Sequence[Fingerprint], thresholds: Thresholds) -> tuple[int, ...]:
    """The number of each task's group: that of its first member."""
    above = list(range(len(prints)))

    def first(at: int) -> int:
        while above[at] != at:
            above[at] = above[above[at]]
            at = above[at]
        return at

    for one, other in alike(prints, structure=thresholds.structure, tokens=thresholds.tokens):
        low, high = sorted((first(one), first(other)))
        above[high] = low
    return tuple(map(first, range(len(prints))))


def _dealt(groups: dict[int, list[Fingerprint]], splitting: Splitting) -> dict[int, Split]:
    num = sum(map(len, groups.values()))
    places = {
        Split.TEST: math.floor(splitting.test * num + 0.5),
        Split.VALIDATION: math.floor(splitting.validation * num + 0.5),
    }
    sides: dict[int, Split] = {}
    for group in sorted(groups, key=lambda group: _key(groups[group], splitting.seed)):
        size = len(groups[group])
        side = next((side for side, left in places.items() if size <= left), Split.TRAIN)
        sides[group] = side
        if side in places:
            places[side] -= size
    return sides


def _key(group: Sequence[Fingerprint], seed: int) -> str:
    reference = min(one.reference for one in group)
    return hashlib.sha256(f"{seed} {reference}".encode()).hexdigest()
