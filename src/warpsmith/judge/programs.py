"""Starts the two helper programs, each in a folder of its own inside the scratch folder."""

import itertools
import os
import shutil
import sys
from pathlib import Path

from warpsmith.core import Command, Limits
from warpsmith.device.base import Device
from warpsmith.device.health import Health
from warpsmith.judge.config import JudgeConfig
from warpsmith.judge.guest_client import GuestClient
from warpsmith.judge.oracle_client import OracleClient
from warpsmith.judge.scratch import Scratch
from warpsmith.sandbox import Sandbox

SHARE_OF_MEMORY = 0.75
GUEST_PROCESSES = 64
NURSERY = "warpsmith.judge.nursery"
UNLIMITED = 1 << 40
ORACLE_PROCESSES = 512  # torch.compile starts compilers


class Programs:
    """`shared` holds the tensors that every guest may read; only the oracle writes there."""

    def __init__(self, sandbox: Sandbox, device: Device, config: JudgeConfig, scratch: Scratch) -> None:
        self._sandbox = sandbox
        self._device = device
        self._memory_bytes = config.memory_bytes or int(SHARE_OF_MEMORY * _machine_memory_bytes())
        self._scratch = scratch
        self._health = Health(device)
        self._numbers = itertools.count()
        self.shared = scratch.folder("shared")
        self.oracle_home = scratch.folder("oracle")

    def oracle(self) -> OracleClient:
        home = self.oracle_home
        limits = Limits(
            memory_bytes=self._memory_bytes,
            processes=ORACLE_PROCESSES,
            file_bytes=UNLIMITED,
            disk_bytes=UNLIMITED,
        )
        caches = {
            "TORCHINDUCTOR_CACHE_DIR": str(home / "inductor"),
            "TRITON_CACHE_DIR": str(home / "triton"),
        }
        command = self._command("oracle", home, (self._scratch.path,), (home, self.shared), limits, caches)
        return OracleClient(self._sandbox.start(command))

    def guest(self) -> GuestClient:
        home = self._scratch.folder(f"guest-{next(self._numbers)}")
        folders = {
            name: self._scratch.folder(f"{home.name}/{name}")
            for name in ("candidate", "extension", "exchange")
        }
        limits = Limits(
            memory_bytes=self._memory_bytes,
            processes=GUEST_PROCESSES,
            file_bytes=UNLIMITED,
            disk_bytes=self._memory_bytes,
        )
        readable = (folders["candidate"], folders["extension"], self.shared)
        command = self._command("guest", folders["exchange"], readable, (folders["exchange"],), limits, {})
        return GuestClient(self._sandbox.start(command), home, self._memory_bytes)

    def clear(self, guest: GuestClient) -> None:
        """Remove the folder of a guest that has ended, and look at the GPU if it ended badly."""
        if guest.has_died:
            self._health.check()
        shutil.rmtree(guest.folder, ignore_errors=True)

    def _command(
        self,
        program: str,
        home: Path,
        readable: tuple[Path, ...],
        writable: tuple[Path, ...],
        limits: Limits,
        env: dict[str, str],
    ) -> Command:
        return Command(
            argv=(sys.executable, "-P", "-m", f"warpsmith.judge.{program}"),
            cwd=home,
            env=env,
            readable=readable,
            writable=writable,
            gpu=self._device.kind == "cuda",
            nursery=NURSERY,
            limits=limits,
        )


def _machine_memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
