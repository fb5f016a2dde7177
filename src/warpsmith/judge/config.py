"""How strictly and how long the judge looks: every default, with its unit and its reason."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from warpsmith.core.codec import to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLimits:
    """Longest time of each stage; the whole process tree is killed after it."""

    start_s: float = 120.0  # until a helper program has imported torch: ours, not the candidate's
    open_s: float = 600.0  # all that is computed once a task: inputs, reference, float64 truth
    load_s: float = 60.0
    forward_s: float = 60.0  # one call, with reading its inputs and writing its outputs
    compare_s: float = 300.0
    compile_s: float = 300.0  # torch.compile's first call
    clock_s: float = 120.0  # one round of one program


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockConfig:
    """How a program is timed on a GPU."""

    rounds: int = 21  # each holds one measurement of every program, in random order
    round_ms: float = 20.0  # a measurement repeats the call for about this long ...
    min_calls: int = 3
    max_calls: int = 50  # ... within these bounds
    warm_up_ms: float = 50.0
    flush_times_l2: float = 2.0  # a warm cache flatters small kernels
    num_resamples: int = 4000  # of the bootstrap
    floor_slack: float = 0.9  # a time under this share of the floor is refused


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeConfig:
    """Everything a verdict depends on beside task, candidate and machine."""

    num_inputs: int = 5
    limits: TimeLimits = field(default_factory=TimeLimits)
    clock: ClockConfig = field(default_factory=ClockConfig)
    memory_bytes: int | None = None  # a candidate's main memory; three quarters of the machine's if None
    scratch: Path | None = None  # where tensors are exchanged; /dev/shm or the temporary folder if None
    lend_share: float = 0.25  # of the GPU's memory, for what travels between oracle and guest; 0: by files
    keep_spare: bool = True  # start the next candidate's process ahead: saves one import of torch a verdict

    @property
    def digest(self) -> str:
        """A key over every setting."""
        return hashlib.sha256(to_json(self).encode()).hexdigest()
