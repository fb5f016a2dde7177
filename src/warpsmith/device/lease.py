"""Taking turns on a GPU, among all processes of the machine: many may use it at once, one may time on it."""

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from warpsmith.core.errors import InfraError
from warpsmith.device.base import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A lease of a GPU. `token` means something to the one who gave it."""

    uuid: str
    is_exclusive: bool
    token: object


class Leases(Protocol):
    """Who may use which GPU. Locks of this machine are one kind; a cluster's scheduler could be another."""

    def acquire(self, uuid: str, *, is_exclusive: bool) -> Held:
        """Wait until the GPU may be used, and hold it.

        Raises:
            InfraError: it cannot be had; or it is in quarantine, with the reason.
        """
        ...

    def release(self, held: Held) -> None: ...


class FileLeases:
    """Locks of the kernel's on temporary files: they end with their holder, however it ends.

    Whoever waits for the GPU keeps its gate shut, else a stream of users would keep out a timer.
    """

    def __init__(self, *, heeds_quarantine: bool = True) -> None:
        self._heeds_quarantine = heeds_quarantine

    def acquire(self, uuid: str, *, is_exclusive: bool) -> Held:
        gate, gpu = (_opened(uuid, name) for name in ("gate", "lock"))
        try:
            fcntl.flock(gate, fcntl.LOCK_EX)
            fcntl.flock(gpu, fcntl.LOCK_EX if is_exclusive else fcntl.LOCK_SH)
            if self._heeds_quarantine:
                _check_quarantine(uuid)
        except BaseException:
            os.close(gpu)
            raise
        finally:
            os.close(gate)
        return Held(uuid=uuid, is_exclusive=is_exclusive, token=gpu)

    def release(self, held: Held) -> None:
        assert isinstance(held.token, int)
        os.close(held.token)


class Meter:
    """Leases of another kind, and for how many seconds they were held; waiting for one is not counted."""

    def __init__(self, leases: Leases | None = None, now_s: Callable[[], float] = time.monotonic) -> None:
        self._leases = leases or FileLeases()
        self._now_s = now_s
        self._since: dict[int, float] = {}
        self.held_s = 0.0

    def acquire(self, uuid: str, *, is_exclusive: bool) -> Held:
        held = self._leases.acquire(uuid, is_exclusive=is_exclusive)
        self._since[id(held)] = self._now_s()
        return held

    def release(self, held: Held) -> None:
        self.held_s += self._now_s() - self._since.pop(id(held))
        self._leases.release(held)


@contextmanager
def lease(device: Device, *, is_exclusive: bool, leases: Leases | None = None) -> Iterator[None]:
    """Hold the device's GPU. Nothing to wait for on the cpu device."""
    if device.uuid is None:
        yield
        return
    leases = leases or FileLeases()
    held = leases.acquire(device.uuid, is_exclusive=is_exclusive)
    try:
        yield
    finally:
        leases.release(held)


def quarantine(uuid: str, reason: str) -> None:
    """Let nobody on this machine acquire the GPU, until `readmit` or the removal of the file."""
    path = _path(uuid, "quarantine")
    with suppress(OSError):  # who cannot write there cannot lock there either, and says so then
        path.write_text(reason)


def readmit(uuid: str) -> None:
    """Lift the quarantine, if there is one."""
    with suppress(OSError):
        _path(uuid, "quarantine").unlink(missing_ok=True)


def _check_quarantine(uuid: str) -> None:
    path = _path(uuid, "quarantine")
    with suppress(FileNotFoundError):
        reason = path.read_text()
        raise InfraError(
            f"GPU {uuid} is in quarantine: {reason}; reset or replace it, and then remove {path}"
        )


def _path(uuid: str, name: str) -> Path:
    return Path(tempfile.gettempdir()) / f"warpsmith-{uuid}.{name}"


def _opened(uuid: str, name: str) -> int:
    path = _path(uuid, name)
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise InfraError(f"cannot lock the GPU by {path}: {error.strerror}; remove that file") from error
