"""What is trained on, chosen by and tested with has nothing in common: shown, not assumed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from warpsmith.core import UsageError
from warpsmith.tasks.synth.base import Made
from warpsmith.tasks.synth.similarity import Thresholds, divided, fingerprint
from warpsmith.tasks.synth.similarity.splitting import Splitting

THRESHOLDS = Thresholds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """How many tasks are on each side, in how many groups of tasks that are alike."""

    num_tasks: dict[str, int]
    num_groups: dict[str, int]
    thresholds: Thresholds

    def __str__(self) -> str:
        sides = ", ".join(
            f"{side} {count} tasks in {self.num_groups[side]} groups"
            for side, count in self.num_tasks.items()
        )
        return (
            f"{sides}: no reference is on two sides, and no group of tasks alike by "
            f"{self.thresholds.structure:g} or more"
        )


def separated(sides: Mapping[str, Sequence[Made]], thresholds: Thresholds = THRESHOLDS) -> Separation:
    """Raises UsageError, naming the pair, for a reference or a group of alike tasks on two sides.

    The reference is the source but for names and sizes, by its SHA-256. A group is what hangs together by
    pairs that are alike, as `similarity.divided` makes it. So is an error what cannot be compared at all.
    """
    rows = [replace(row, split=side) for side, tasks in sides.items() for row in tasks]
    found = divided(rows, Splitting(thresholds=thresholds))
    if found.unread:
        first = found.unread[0]
        raise UsageError(
            f"{first.task_id} cannot be compared with other tasks ({first.reason:.200}); leave it out"
        )
    _check("have the same reference", rows, [fingerprint(row.task).reference for row in rows])
    _check("are alike, or hang together by tasks that are", rows, [str(group) for group in found.groups])
    groups = {side: set[int]() for side in sides}
    for row, group in zip(rows, found.groups, strict=True):
        groups[row.split].add(group)
    return Separation(
        num_tasks={side: len(tasks) for side, tasks in sides.items()},
        num_groups={side: len(members) for side, members in groups.items()},
        thresholds=thresholds,
    )


def _check(what: str, rows: Sequence[Made], keys: Sequence[str]) -> None:
    first: dict[str, Made] = {}
    for row, key in zip(rows, keys, strict=True):
        other = first.setdefault(key, row)
        if other.split != row.split:
            raise UsageError(
                f"{other.task.task_id} of {other.split} and {row.task.task_id} of {row.split} {what}; "
                "split the store again (warpsmith synth decontaminate)"
            )
