"""How strictly and how long the judge looks: every default, with its unit and its reason."""

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path

from warpsmith.core.codec import to_json
from warpsmith.device.base import Gpu


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
    sanitizer_s: float = 180.0  # one tool of compute-sanitizer's, over one call


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockConfig:
    """How a program is timed on a GPU.

    With these figures a verdict on a short kernel holds the GPU for 0.6 to 0.8 s: 11 rounds of two programs,
    each some 18 calls of 0.65 ms, what is around a call included, and as long again to prepare them.
    """

    rounds: int = 11  # each holds one measurement of every program, in random order
    max_rounds: int = 44  # where these do not settle it
    round_ms: float = 12.5  # a measurement repeats the call for about this long, with all around it ...
    idle_us: float = 550.0  # what is around it takes about this on an H200
    min_calls: int = 3
    max_calls: int = 32  # ... within these bounds
    min_timed_ms: float = 3.0  # the candidate's calls together; fewer say nothing of a drifting clock
    warm_up_ms: float = 10.0
    warm_sets: int = 3  # input sets of the warm-up, which are never timed
    flush_times_l2: float = 3.0  # a warm cache flatters small kernels; twice is what it takes
    num_resamples: int = 4000  # of the bootstrap

    # The guest's device events against the host's own clock, as seen on an H200: by the median of the rounds
    # a bracket is within 150 us of the truth, so a call's share of it shrinks with their number; what is
    # around a call scatters by 1 us, and between processes by 30 us where each call is waited for.
    agree_us: float = 2.5  # a call
    agree_waits_us: float = 45.0  # a call that is waited for
    agree_bracket_us: float = 150.0  # a bracket
    agree_share: float = 0.05
    confirm_us: float = 1.0  # what the host's clock resolves of a call, over all rounds
    waits_every: int = 4  # rounds: in the first of so many each call is waited for
    dawdle_us: float = 60.0  # that asking a guest may cost more than asking the oracle
    max_repeats: int = 30  # rounds in which the GPU slows itself down, before it is given up

    num_verified: int = 6  # timed calls whose outputs are compared
    timed_times_allowed: float = (
        2.0  # their error may be this much of what the correctness gate allows, since
    )
    # their inputs are others than those that the bound was found on; what a cheat returns is far beyond
    max_width: float = 0.1  # of the interval of ratios, either side of its centre, before more rounds are run
    process_effect: float = 0.01  # equal programs in two processes may differ by this: other addresses

    deal_s: float = 2.0  # for making a candidate's input sets; beyond it they are used again in later rounds
    ahead_bytes: int = 2 << 30  # of input sets made before the GPU is held; larger ones are made meanwhile
    held_share: float = 0.1  # of the GPU's memory, for the outputs that are held at a time

    baselines: tuple[str, ...] = ("compile",)  # also "compile:MODE" for a mode of torch.compile's
    cache: Path | None = None  # where baselines are kept for later processes; None: in the judge's memory
    max_drift: float = 0.1  # of eager's time from the kept one, before baselines are measured again

    floor_slack: float = 0.9  # a time under this share of the floor is refused
    launch_floor_us: float = 1.0  # no launch takes less: an empty kernel takes about 1.5 us between events
    audit_ratio: float = 10.0  # a speed-up beyond it is held for audit

    def flush_bytes(self, gpu: Gpu) -> int:
        """How much is written between two calls."""
        return int(self.flush_times_l2 * gpu.l2_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeConfig:
    """Everything a verdict depends on beside task, candidate and machine."""

    num_inputs: int = 5
    limits: TimeLimits = field(default_factory=TimeLimits)
    clock: ClockConfig = field(default_factory=ClockConfig)
    memory_bytes: int | None = None  # a candidate's main memory; three quarters of the machine's if None
    scratch: Path | None = None  # where tensors are exchanged; /dev/shm or the temporary folder if None
    lend_share: float = 0.25  # of the GPU's memory, for what travels between oracle and guest; 0: by files
    sanitizes: bool = False  # also run compute-sanitizer's tools over one call of what has passed, on a GPU
    keep_spare: bool = True  # start the next candidate's process ahead: saves one import of torch a verdict

    @property
    def digest(self) -> str:
        """A key over every setting that a verdict depends on: not over where files are kept."""
        placeless = replace(self, scratch=None, clock=replace(self.clock, cache=None))
        return hashlib.sha256(to_json(placeless).encode()).hexdigest()
