"""Fresh memory that shows when it is read before it was written."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def poisoned() -> Iterator[None]:
    """Inside, `torch.empty` and its kin give NaN (integers: the largest): what is not written shows."""
    _switch(is_on=True)
    try:
        yield
    finally:
        _switch(is_on=False)


def _switch(*, is_on: bool) -> None:
    # What torch.use_deterministic_algorithms does, without importing torch's compiler, which takes seconds.
    torch._C._set_deterministic_algorithms(is_on, warn_only=is_on)
    torch._C._set_deterministic_fill_uninitialized_memory(is_on)
