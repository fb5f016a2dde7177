"""Which skills are kept: none that is known already, none of a task that is held back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warpsmith.core import Task
from warpsmith.tasks.synth.base import Made
from warpsmith.tasks.synth.similarity import (
    Neighbour,
    Split,
    Thresholds,
    Unread,
    decontaminated,
    without_near_duplicates,
)
from warpsmith.tasks.synth.skills.skill import Lesson, Skill, SubTask

HELD_BACK = (Split.TEST, Split.VALIDATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """What is left of skills, and what went why."""

    kept: tuple[Skill, ...]
    leaked: tuple[Neighbour, ...]  # a task of theirs, beside the one that is held back
    repeated: int  # the same lesson, or a sub-task too close to one that is kept
    unread: tuple[Unread, ...]  # tasks that cannot be compared, on either side: skills of such are not kept


def held_back(rows: Iterable[Made]) -> tuple[Task, ...]:
    """The tasks of a set that nobody may practise on: those of its test and validation sides."""
    return tuple(row.task for row in rows if row.split in HELD_BACK)


def for_testing(rows: Iterable[Made]) -> tuple[Task, ...]:
    """What a set that is given as a test set holds back: all of it, where no sides are said."""
    rows = tuple(rows)
    return held_back(rows) or tuple(row.task for row in rows if not row.split)


def practised(rows: Iterable[Made]) -> tuple[Task, ...]:
    """The tasks of a set that skills may be taken out of: those to train on, or all if none says."""
    return tuple(row.task for row in rows if row.split not in HELD_BACK)


def keeping(skills: Iterable[Skill], held: Sequence[Task], thresholds: Thresholds | None = None) -> Keeping:
    """`skills` without repetitions, and without those whose task is alike to one of `held`.

    Alike is what has the same reference hash, or a similarity that reaches a threshold.
    """
    thresholds = thresholds or Thresholds()
    distinct: dict[str, Skill] = {}
    num_given = 0
    for skill in skills:
        num_given += 1
        distinct.setdefault(skill.digest, skill)
    tasks = {skill.task.digest: skill.task for skill in distinct.values()}
    beside = decontaminated(tasks.values(), held, thresholds)
    clean = {task.digest for task in beside.kept}
    sub_tasks = [one for one in distinct.values() if isinstance(one, SubTask) and one.task.digest in clean]
    unlike = {
        task.digest for task in without_near_duplicates([one.task for one in sub_tasks], thresholds).kept
    }
    kept = tuple(
        one for one in distinct.values() if one.task.digest in (clean if isinstance(one, Lesson) else unlike)
    )
    return Keeping(
        kept=kept,
        leaked=tuple(dropped.neighbour for dropped in beside.dropped),
        repeated=num_given - len(distinct) + len(sub_tasks) - len(unlike),
        unread=(*beside.unread, *beside.unread_others),
    )
