"""Outputs that are no numbers: which other answers than the reference's are as right.

An index says where a value lies. If two lie level, either index is right, and rounding decides which of two
that are nearly level is higher. So an integer or boolean is also right if it is what float64 says. And an
index that an operator such as argmax or topk gave is right if the value there is the one at the reference's
index; two indices of one topk must then still differ.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from warpsmith.judge.names import names
from warpsmith.judge.operators import OperatorListener, Run, name_of
from warpsmith.judge.tensorfile import leaves

CHOOSING = names("argmax argmin max min topk sort kthvalue median mode cummax cummin")
MOST_KEPT_BYTES = 1 << 28  # of a source that is not one of the inputs
LEVEL = 64 * 2.0**-23  # relative to the values' scale: two computed in fp32 that are that near are level


@dataclass(frozen=True, slots=True)
class Choice:
    """Where an index output points: into `source`, along `dim` (None: into all of it, flattened)."""

    source: torch.Tensor
    dim: int | None
    is_given: bool  # the source is an input, so equal means equal

    def is_as_right(self, answer: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
        """Where `answer` picks a value as good as the reference's."""
        source, dim = (self.source.reshape(-1), 0) if self.dim is None else (self.source, self.dim)
        has_dim = self.dim is not None and answer.dim() == source.dim()
        mine, wanted = (_lined_up(indices, dim, has_dim=has_dim) for indices in (answer, reference))
        size = source.shape[dim]
        is_inside = (mine >= 0) & (mine < size)
        inside = mine.clamp(0, size - 1)
        there, level = source.gather(dim, inside).double(), source.gather(dim, wanted).double()
        slack = (
            0.0 if self.is_given else LEVEL * (level.abs() + float(source.double().square().mean().sqrt()))
        )
        right = is_inside & ((there - level).abs() <= slack) & _is_single(inside, dim)
        return right.reshape(answer.shape)


class ChoiceWatch(OperatorListener):
    """Notes the operators that gave indices, and what they chose from."""

    def __init__(self) -> None:
        OperatorListener.__init__(self)
        self._found: list[tuple[StorageWeakRef, torch.Tensor, int | None]] = []

    def heard(self, run: Run) -> None:
        if name_of(run.operator) not in CHOOSING or not run.args:
            return
        arguments = {
            a.name: value for a, value in zip(run.operator._schema.arguments, run.args, strict=False)
        }
        dim = {**arguments, **run.kwargs}.get("dim", _default(run, "dim"))
        for out in leaves(run.out):
            if out.dtype is torch.int64:
                self._found.append((StorageWeakRef(out.untyped_storage()), run.args[0], dim))

    def choice(self, output: torch.Tensor, inputs: list[Any]) -> Choice | None:
        """Where `output`, an integer tensor that was made inside, points."""
        name = StorageWeakRef(output.untyped_storage()).cdata
        for reference, source, dim in reversed(self._found):
            if reference.cdata != name or source.dim() == 0:
                continue
            given = [tensor for tensor in leaves(inputs) if _is_same(tensor, source)]
            if given:
                return Choice(given[0], dim, is_given=True)
            is_small = source.numel() * source.element_size() <= MOST_KEPT_BYTES
            return Choice(source.detach(), dim, is_given=False) if is_small else None
        return None


def _lined_up(indices: torch.Tensor, dim: int, *, has_dim: bool) -> torch.Tensor:
    """`indices` with the dimension that was chosen along."""
    indices = indices.to(torch.int64)
    if has_dim:
        return indices
    return indices.reshape(-1) if indices.dim() == 0 else indices.unsqueeze(dim)


def _is_single(indices: torch.Tensor, dim: int) -> torch.Tensor:
    """Where no other index of its line is the same."""
    ordered, order = indices.sort(dim)
    is_next = torch.zeros_like(ordered, dtype=torch.bool)
    size = indices.shape[dim]
    if size > 1:
        same = ordered.narrow(dim, 1, size - 1) == ordered.narrow(dim, 0, size - 1)
        is_next.narrow(dim, 1, size - 1).logical_or_(same)
        is_next.narrow(dim, 0, size - 1).logical_or_(same)
    return ~torch.zeros_like(is_next).scatter(dim, order, is_next)


def _is_same(tensor: torch.Tensor, source: torch.Tensor) -> bool:
    return tensor.shape == source.shape and bool((tensor == source).all())


def _default(run: Run, name: str) -> Any:
    found = [argument for argument in run.operator._schema.arguments if argument.name == name]
    return found[0].default_value if found else None
