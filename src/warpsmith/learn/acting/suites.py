"""The tasks of a suite: one side of a store, at the size that a device is given."""

from collections import Counter
from dataclasses import replace

from warpsmith.core import Task, UsageError
from warpsmith.learn.recipes.base import Suite
from warpsmith.tasks.scale import with_scale
from warpsmith.tasks.store import Store
from warpsmith.tasks.synth.base import Made


def rows_of(suite: Suite) -> tuple[Made, ...]:
    """Raises UsageError if there is no such store, or nothing on this side of it."""
    store = Store(suite.store)
    rows = tuple(store.rows())
    chosen = tuple(row for row in rows if row.split == suite.split)
    if not chosen:
        sides = Counter(row.split or "none" for row in rows)
        held = ", ".join(f"{side} ({count})" for side, count in sorted(sides.items())) or "no task"
        raise UsageError(f"{suite.store} has no tasks for {suite.split!r:.40}; by split it holds {held}")
    return chosen[: suite.limit]


def tasks_of(suite: Suite, device_kind: str) -> tuple[Task, ...]:
    """As `warpsmith optimize STORE.parquet:ID` would take each. Raises as `rows_of`."""
    return tuple(_sized(row.task, suite, device_kind) for row in rows_of(suite))


def _sized(task: Task, suite: Suite, device_kind: str) -> Task:
    source, scale = with_scale(task.source, task.task_id, None, device_kind)
    where = f"{suite.store}:{task.digest[:12]}"
    return replace(task, source=source, scale=scale, provenance=f"{where} ({task.provenance})")
