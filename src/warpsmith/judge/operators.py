"""Hearing of every torch operator that runs."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

Operator = torch._ops.OpOverload[..., Any]


@dataclass(frozen=True, slots=True)
class Run:
    """One operator's run: what it was given and what it gave."""

    operator: Operator
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    out: Any


class OperatorListener(TorchDispatchMode):
    """A context in which `heard` is told of each operator that ran."""

    def __init__(self) -> None:
        TorchDispatchMode.__init__(self)

    @abstractmethod
    def heard(self, run: Run) -> None:
        """Called after each operator."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its whole compiler, which takes seconds, to be left alone by it

    def __torch_dispatch__(
        self, func: Operator, types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        self.heard(Run(func, args, kwargs or {}, out))
        return out


def name_of(operator: Operator) -> str:
    """Its name without namespace and overload."""
    return str(operator._schema.name).partition("::")[2]
