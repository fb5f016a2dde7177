"""How the filter looks at tasks: every default, with its unit and its reason."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from warpsmith.core.codec import to_json
from warpsmith.device.base import Device
from warpsmith.judge.config import ClockConfig
from warpsmith.sandbox import Sandbox

COMPILER_SETTINGS = {  # read when torch's compiler is imported
    "TORCHINDUCTOR_COMPILE_THREADS": "1",  # in its own process: there are as many of those as cores
    "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",  # worth it for many compilations in one folder alone
    "TORCHINDUCTOR_VEC_ISA_OK": "1",  # what the CPU says it can do is not tried out in each new folder
}
VERSION = 2  # of the checks: one more whenever a task could fare otherwise than before


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Eager times that a task may have, in µs: beyond them nothing is gained, or all takes too long."""

    least_us: float = 1e3
    most_us: float = 1e5


@dataclass(frozen=True, slots=True, kw_only=True)
class StageLimits:
    """Longest wall time of each stage; the process is killed after it, and the task hangs."""

    start_s: float = 120.0  # of the helper: ours, not the task's
    run_s: float = 60.0  # import, construction, inputs, one call
    look_s: float = 60.0
    repeat_s: float = 60.0
    tell_s: float = 30.0
    compile_s: float = 120.0
    agree_s: float = 60.0
    audit_s: float = 60.0
    time_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """All that an outcome depends on beside the task and the machine.

    An answer is told from the right one if its error is over `tell_times` what the judge allows. The judge
    lets timed calls be off by `ClockConfig.timed_times_allowed` times that, which is its widest gate: an
    answer to other inputs that lies within it could be returned without computing anything.
    """

    band: Band = Band()
    limits: StageLimits = StageLimits()
    num_inputs: int = 3  # sets; the judge's own verdict takes five
    tell_times: float = ClockConfig().timed_times_allowed
    memory_bytes: int = 33 << 30  # of the device, for one eager call: a quarter of an H200, as compose.room
    host_bytes: int = 8 << 30  # of main memory, for the task's whole process tree
    num_processes: int = 64  # of its tree; compilers are among them
    most_said_bytes: int = 1 << 16  # to standard output and error
    compile_backend: str = "inductor"
    audit_budget_s: float = 4.0  # from the first run; beyond it probes of suspicious things are skipped
    num_timed: int = 8  # calls
    warm_up_ms: float = 10.0
    seed: int = 20_261


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterConfig:
    """Where and how tasks are filtered."""

    device: Device
    sandbox: Sandbox
    workers: int
    checks: Checks = field(default_factory=Checks)
    scratch: Path | None = None  # for sources and caches; /dev/shm or the temporary folder if None

    @property
    def digest(self) -> str:
        """A key over all that outcomes depend on: not over where and by how many."""
        text = f"{VERSION}\0{to_json(self.checks)}\0{to_json(self.device)}"
        return hashlib.sha256(text.encode()).hexdigest()
