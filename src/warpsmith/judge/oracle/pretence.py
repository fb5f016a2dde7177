"""Answers whose verdict is known beforehand, written as a guest would: controls of the comparison itself."""

from collections.abc import Callable
from typing import Any

import torch

from warpsmith.judge.oracle.compare import Target
from warpsmith.judge.oracle.examination import Case
from warpsmith.judge.oracle.telling import mean
from warpsmith.judge.protocol import Control, Pretend, Pretended
from warpsmith.judge.tensorfile import changed, leaves, write


def pretended(request: Pretend, known: Case, reference: Callable[[], Any]) -> Pretended:
    """Write the answer that `request` names; `reference` gives the right one."""
    match request.control:
        case Control.CONSTANT:
            answer = changed(known.targets, _constant, Target)
        case Control.COPY:
            values = [
                tensor.reshape(-1)
                for tensor in leaves(known.inputs)
                if tensor.is_floating_point() and tensor.numel()
            ]
            if not values:
                return Pretended(is_there=False)
            answer = changed(known.targets, lambda goal: _filled(goal, values[0]), Target)
        case Control.REFERENCE:
            answer = reference()
    write(request.outputs, answer)
    return Pretended(is_there=True)


def _constant(goal: Target) -> torch.Tensor:
    """One number everywhere; where there is only one, another."""
    middle = mean(goal).contiguous()
    if goal.value.numel() != 1:
        return middle
    return ~middle if goal.dtype is torch.bool else middle * 2 + 1


def _filled(goal: Target, values: torch.Tensor) -> torch.Tensor:
    """An output's shape, filled with `values` over and over."""
    count = goal.value.numel()
    times = -(-count // values.numel()) if count else 1
    return values.repeat(times)[:count].to(goal.dtype).reshape(goal.shape)
