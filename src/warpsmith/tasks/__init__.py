"""Where tasks come from: each source in turn is offered the spec, and the last takes what is left."""

from warpsmith.core import Task, UsageError
from warpsmith.tasks.base import CPU_SCALE, Request, TaskSource
from warpsmith.tasks.file import FileSource
from warpsmith.tasks.judging import judged_as
from warpsmith.tasks.module import ModuleSource
from warpsmith.tasks.scale import checked_scale
from warpsmith.tasks.store.source import StoreSource

__all__ = ["CPU_SCALE", "SOURCES", "Request", "TaskSource", "judged_as", "load_task"]

SOURCES: dict[str, TaskSource] = {"store": StoreSource(), "module": ModuleSource(), "file": FileSource()}


def load_task(
    spec: str,
    *,
    inputs: tuple[str, ...] = (),
    init: str | None = None,
    scale: float | None = None,
    device_kind: str = "cuda",
) -> Task:
    """The task that `spec` names: a file in KernelBench's format, `package.module:Class` with `inputs`, or
    `STORE.parquet:ID`.

    `scale` replaces the file's top-level SCALE. Nothing of the task is executed: the judge finds out what a
    reference really does. Raises UsageError for what does not exist, TaskError for what cannot be judged.
    """
    request = Request(
        spec=spec, inputs=inputs, init=init, scale=checked_scale(scale), device_kind=device_kind
    )
    for source in SOURCES.values():
        if "\0" not in spec and source.accepts(spec):
            return source.load(request)
    raise UsageError(
        f"{spec!r} names no task; give {' or '.join(source.form for source in SOURCES.values())}"
    )
