"""Fresh memory that shows when it is read before it was written."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from warpsmith.judge.tensorfile import changed, leaves

DELAY_CYCLES = 4_000_000  # about two milliseconds: longer than a program takes to launch its kernels


@contextmanager
def poisoned() -> Iterator[None]:
    """Inside, `torch.empty` and its kin give NaN (integers: the largest): what is not written shows."""
    _switch(is_on=True)
    try:
        yield
    finally:
        _switch(is_on=False)


def arriving_late(inputs: list[Any]) -> list[Any]:
    """Copies of `inputs` that hold NaN until long after the caller's next launch.

    The copies are made in the order of the current stream. Work on another stream that does not wait for it
    reads NaN, as it would read anything at all in a program where the inputs come from an earlier kernel.
    """
    late: list[Any] = changed(inputs, _poison)
    torch.cuda._sleep(DELAY_CYCLES)
    for target, source in zip(leaves(late), leaves(inputs), strict=True):
        target.copy_(source)
    return late


def _poison(tensor: torch.Tensor) -> torch.Tensor:
    like = torch.empty_like(tensor)
    return like.fill_(math.nan if like.is_floating_point() or like.is_complex() else 0)


def _switch(*, is_on: bool) -> None:
    # What torch.use_deterministic_algorithms does, without importing torch's compiler, which takes seconds.
    torch._C._set_deterministic_algorithms(is_on, warn_only=is_on)
    torch._C._set_deterministic_fill_uninitialized_memory(is_on)
