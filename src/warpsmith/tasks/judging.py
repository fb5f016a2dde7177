"""How a task is to be judged, from what a person wrote."""

from dataclasses import replace
from enum import StrEnum
from typing import TypeVar

from warpsmith.core import Dtype, Precision, Task, UsageError

E = TypeVar("E", bound=StrEnum)


def judged_as(
    task: Task, *, dtype: str, precision: str, is_training: bool = False, has_backward: bool = False
) -> Task:
    """`task` under these options. Raises UsageError, naming the choices, for a word that is none of them."""
    return replace(
        task,
        dtype=_chosen("dtype", dtype, Dtype),
        precision=_chosen("precision", precision, Precision),
        is_training=is_training,
        has_backward=has_backward,
    )


def _chosen(what: str, word: str, choices: type[E]) -> E:
    try:
        return choices(word)
    except ValueError as error:
        raise UsageError(f"unknown {what} {word!r:.80}; choose one of {', '.join(choices)}") from error
