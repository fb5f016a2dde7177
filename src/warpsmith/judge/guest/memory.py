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


def leave_zeros(tree: object) -> None:
    """Let free memory hold zeros, where `tree` lies, rather than NaN that is left from a poisoned call.

    NaN would tell a program, wrongly, that it is examined still: it would behave, and what it does when
    nobody looks would not be seen.
    """
    device = next((tensor.device for tensor in leaves(tree)), torch.device("cpu"))
    sizes = [1 << power for power in range(0, 21, 2) for _ in range(32 >> power or 2)]
    blocks = [torch.zeros(size, device=device) for size in sizes]
    del blocks


def refilled(given: list[Any], fresh: list[Any]) -> list[Any]:
    """The tensors of `given`, which are the same objects still, with the contents of `fresh`.

    Their versions do not count it, as they would not if another program wrote there. It is `fresh` where
    the two are of different shapes, or `given` overlaps itself in a way that cannot be written to.
    """
    if changed(given, _shape) != changed(fresh, _shape):
        return fresh
    try:
        for target, source in zip(leaves(given), leaves(fresh), strict=True):
            _once_each(target.data).copy_(_once_each(source))
    except RuntimeError:
        return fresh
    return given


def _shape(tensor: torch.Tensor) -> Any:
    return tensor.shape, tensor.stride(), tensor.dtype


def _once_each(tensor: torch.Tensor) -> torch.Tensor:
    """Of a dimension whose elements are all one, that one."""
    for dim, (size, step) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        if size > 1 and step == 0:
            tensor = tensor.narrow(dim, 0, 1)
    return tensor


def _poison(tensor: torch.Tensor) -> torch.Tensor:
    like = torch.empty_like(tensor)
    return like.fill_(math.nan if like.is_floating_point() or like.is_complex() else 0)


def _switch(*, is_on: bool) -> None:
    # What torch.use_deterministic_algorithms does, without importing torch's compiler, which takes seconds.
    torch._C._set_deterministic_algorithms(is_on, warn_only=is_on)
    torch._C._set_deterministic_fill_uninitialized_memory(is_on)
