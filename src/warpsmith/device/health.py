"""Whether a GPU is sound after a program on it ended badly; if not, nobody gets it any more."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from warpsmith.device.base import Device
from warpsmith.device.lease import FileLeases, lease, quarantine, readmit

PROGRAM = Path(__file__).with_name("probe.py")
PROBE_S = 60.0  # a context takes a second; a GPU that hangs takes forever
WAIT_S = 5.0  # for memory of the dead: the driver takes it back while the process is torn down
PAUSE_S = 0.5
SLACK_BYTES = 512 << 20  # what others may have taken meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Sound:
    """The GPU gives right answers."""

    free_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sick:
    """The GPU must not be used, and why."""

    reason: str


class Probe(Protocol):
    """Looks at one GPU, in a process of its own. A test's fake is one too."""

    def look(self, uuid: str) -> Sound | Sick: ...


class ProcessProbe:
    """Runs a kernel with a known answer in a short-lived process: ours must outlive a hang."""

    def look(self, uuid: str) -> Sound | Sick:
        program = [sys.executable, "-I", "-S", str(PROGRAM)]
        env = os.environ | {"CUDA_VISIBLE_DEVICES": uuid, "CUDA_CACHE_DISABLE": "1"}
        try:
            run = subprocess.run(program, env=env, capture_output=True, timeout=PROBE_S, check=False)
        except subprocess.TimeoutExpired:
            return Sick(reason=f"a trivial kernel does not end within {PROBE_S:g} s")
        if run.returncode != 0:
            last = run.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
            return Sick(reason=f"a trivial program ended with {run.returncode}: {last[0]}")
        report = json.loads(run.stdout)
        return Sick(reason=report["problem"]) if report["problem"] else Sound(free_bytes=report["free_bytes"])


class Health:
    """Keeps watch over one device. The cpu device is always well."""

    def __init__(
        self, device: Device, probe: Probe | None = None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._device = device
        self._probe = probe or ProcessProbe()
        self._sleep = sleep

    def check(self, *, expected_free_bytes: int | None = None) -> Sound | Sick | None:
        """Look at the GPU, and put it into quarantine if it is sick, so that whoever wants it next is told.

        With `expected_free_bytes` (of before, and if nobody else started on it since) memory that stays taken
        is a sickness too. None if there is nothing to look at.
        """
        uuid = self._device.uuid
        if uuid is None:
            return None
        with lease(self._device, is_exclusive=False, leases=FileLeases(heeds_quarantine=False)):
            found = self._look(uuid, expected_free_bytes)
        if isinstance(found, Sick):
            quarantine(uuid, found.reason)
        else:
            readmit(uuid)
        return found

    def _look(self, uuid: str, expected_free_bytes: int | None) -> Sound | Sick:
        waited_s = 0.0
        while True:
            found = self._probe.look(uuid)
            if isinstance(found, Sick) or expected_free_bytes is None:
                return found
            missing = expected_free_bytes - found.free_bytes
            if missing <= SLACK_BYTES:
                return found
            if waited_s >= WAIT_S:
                return Sick(reason=f"{missing >> 20} MiB that a dead program used do not become free")
            self._sleep(PAUSE_S)
            waited_s += PAUSE_S
