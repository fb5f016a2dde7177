"""What a call does beside answering: numbers that it draws, seeds that it sets, notes that it takes."""

import sys
from typing import Any

import torch

from warpsmith.judge.operators import OperatorListener, Run, name_of

Notes = dict[str, str]


class DrawWatch(OperatorListener):
    """Notes operators that draw random numbers: a generator that is seeded inside is no excuse."""

    def __init__(self) -> None:
        OperatorListener.__init__(self)
        self.drawn: list[str] = []

    def heard(self, run: Run) -> None:
        if torch.Tag.nondeterministic_seeded in run.operator.tags and not _drops_nothing(run):
            self.drawn.append(name_of(run.operator))


def _drops_nothing(run: Run) -> bool:
    """Whether it would draw only to drop, and drops nothing: attention carries the tag whatever it does."""
    known = {
        argument.name: argument.default_value
        for argument in run.operator._schema.arguments
        if argument.has_default_value()
    }
    names = [argument.name for argument in run.operator._schema.arguments]
    known |= dict(zip(names, run.args, strict=False)) | run.kwargs
    if known.get("train", known.get("training")) is False:
        return True
    chance = known.get("dropout_p", known.get("p"))
    return isinstance(chance, float | int) and chance == 0


def notes_of(model: torch.nn.Module) -> Notes:
    """Plain attributes of all modules and globals of the task's file, as text; tensors are for others."""
    globals_of_task = vars(sys.modules[model.__class__.__module__])
    return {name: _said(value) for name, value in globals_of_task.items() if not name.startswith("__")} | {
        f"{prefix}.{name}".lstrip("."): _said(value)
        for prefix, module in model.named_modules()
        for name, value in vars(module).items()
        if not name.startswith("_") or not isinstance(value, dict | set)
    }


def _said(value: Any) -> str:
    """What would show that it has changed; containers by their size, for they may hold tensors."""
    if isinstance(value, bool | int | float | str | None):
        return repr(value)
    if isinstance(value, list | tuple | dict | set):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__
