"""Where a task comes from: what was asked for, and what a source of tasks can do."""

from dataclasses import dataclass
from typing import Protocol

from warpsmith.core import Task

CPU_SCALE = 1 / 64
"""What a task is shrunk to where kernels run on CPU cores, unless the caller says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a person wrote to name a task."""

    spec: str
    inputs: tuple[str, ...] = ()  # shapes of a module's inputs, such as "f32[64,1024]"
    init: str | None = None  # a module's constructor arguments, as a JSON list or object
    scale: float | None = None  # None: the file's own on a GPU, at most CPU_SCALE on CPU cores
    device_kind: str = "cuda"


class TaskSource(Protocol):
    """One way of naming tasks."""

    form: str
    """How a spec of this kind looks, for an error that offers the choices."""

    def accepts(self, spec: str) -> bool:
        """Whether `spec` is written in this source's form; it may still name nothing."""
        ...

    def load(self, request: Request) -> Task:
        """The task, none of it executed. Raises UsageError if there is none, TaskError if it is unusable."""
        ...
