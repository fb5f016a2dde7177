"""Two policies, or two checkpoints of one, on the same tasks: what the second gained. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpsmith.core import Ratio, UsageError
from warpsmith.learn.evaluation.attempts import REFUSED, Attempt
from warpsmith.learn.evaluation.intervals import Change, change, geometric
from warpsmith.learn.evaluation.standing import (
    Standing,
    by_task,
    is_faster,
    is_modelled_fast,
    share_of,
    standing,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Of the tasks that both have tried; each task is held against itself."""

    before: Standing  # of the shared tasks
    after: Standing
    passed: Change
    faster: Change | None  # than eager; None: times are modelled
    modelled_fast: Change | None  # None: they are measured, or there are none
    speed: Ratio | None  # after's against before's, where both have a measured program; geometric mean
    num_only_before: int  # tasks
    num_only_after: int


def compare(before: Sequence[Attempt], after: Sequence[Attempt]) -> Comparison:
    """Raises UsageError if no task is in both, or one has measured times and the other modelled ones."""
    old, new = (by_task([one for one in side if one.kind != REFUSED]) for side in (before, after))
    shared = [digest for digest in old if digest in new]
    if not shared:
        raise UsageError("the two have no task in common; evaluate both on the same suite and split")
    sides = tuple(standing(attempt for digest in shared for attempt in tasks[digest]) for tasks in (old, new))
    kinds = {side.provenance for side in sides if side.provenance is not None}
    if len(kinds) > 1:
        raise UsageError("one has measured times and the other modelled ones; they do not compare")
    is_modelled = any(side.modelled_fast is not None for side in sides)

    def changed(is_good: Callable[[Attempt], bool]) -> Change:
        return change([share_of(new[key], is_good) - share_of(old[key], is_good) for key in shared])

    return Comparison(
        before=sides[0],
        after=sides[1],
        passed=changed(lambda attempt: attempt.has_passed),
        faster=None if is_modelled else changed(is_faster),
        modelled_fast=changed(is_modelled_fast) if is_modelled else None,
        speed=None if is_modelled else geometric(_ratios(old, new, shared)),
        num_only_before=len(old) - len(shared),
        num_only_after=len(new) - len(shared),
    )


def _ratios(
    old: dict[str, list[Attempt]], new: dict[str, list[Attempt]], shared: Sequence[str]
) -> list[float]:
    """Speed-up over eager after, by that before: eager is the yardstick that both were measured beside."""
    found = []
    for key in shared:
        first, second = (_speed(tasks[key]) for tasks in (old, new))
        if first is not None and second is not None:
            found.append(second / first)
    return found


def _speed(attempts: Sequence[Attempt]) -> float | None:
    timings = [attempt.timing for attempt in attempts if attempt.timing is not None]
    mean = geometric([timing.against_eager.centre for timing in timings if not timing.trouble])
    return None if mean is None else mean.centre
