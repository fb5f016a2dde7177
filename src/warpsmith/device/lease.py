"""Taking turns on a GPU, among all processes of the machine: many may use it at once, one may time on it."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warpsmith.core.errors import InfraError
from warpsmith.device.base import Device


@contextmanager
def lease(device: Device, *, is_exclusive: bool) -> Iterator[None]:
    """Wait until the GPU may be used, and hold it. Nothing to wait for on the cpu device.

    The locks are the kernel's, so they end with their holder, however that ends.
    """
    if device.uuid is None:
        yield
        return
    gate, gpu = (_opened(f"warpsmith-{device.uuid}.{name}") for name in ("gate", "lock"))
    try:
        # Whoever waits for the GPU keeps the gate shut, else a stream of users would keep out a timer.
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(gpu, fcntl.LOCK_EX if is_exclusive else fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield
    finally:
        os.close(gate)
        os.close(gpu)


def _opened(name: str) -> int:
    path = Path(tempfile.gettempdir()) / name
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise InfraError(f"cannot lock the GPU by {path}: {error.strerror}; remove that file") from error
