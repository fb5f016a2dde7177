"""Other people's formats of tasks, read and written: each kind has a file, and a name in SUITES."""

from warpsmith.core import UsageError
from warpsmith.tasks.suites.base import Broken, Imported, Suite, imported
from warpsmith.tasks.suites.jsonl import JsonLines
from warpsmith.tasks.suites.kernelbench import KernelBench
from warpsmith.tasks.suites.ops6k import Ops6K

__all__ = ["SUITES", "Broken", "Imported", "Suite", "imported", "suite"]

SUITES: dict[str, Suite] = {"ops6k": Ops6K(), "kernelbench": KernelBench(), "jsonl": JsonLines()}


def suite(name: str) -> Suite:
    """The format called `name`. Raises UsageError, naming the choices, if there is none."""
    if name not in SUITES:
        raise UsageError(f"unknown suite {name!r:.80}; choose one of {', '.join(SUITES)}")
    return SUITES[name]
