"""How long a program takes, beside the reference, and how that is known."""

from dataclasses import dataclass
from enum import StrEnum

MARGIN = 0.05
"""CUDA Agent's bound (arXiv 2602.24286): faster is what saves more than this share of a baseline's time."""


class Provenance(StrEnum):
    """Where a time comes from. A modelled time is never printed as a speed-up."""

    MEASURED = "measured"
    MODELLED = "modelled"


class Speed(StrEnum):
    """What an interval of ratios lets one say."""

    FASTER = "faster"
    SLOWER = "slower"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A baseline's time over the candidate's: above 1, the candidate is faster.

    `low` and `high` bound the centre with 95 % confidence (bootstrap over pairs); equal to it when modelled.
    """

    centre: float
    low: float
    high: float

    @property
    def saved(self) -> float:
        """The share of the baseline's time that is saved, at the centre; below 0, it takes more."""
        return 1.0 - 1.0 / self.centre

    def speed(self, margin: float = 0.0) -> Speed:
        """Faster only if the whole interval lies above 1 + margin, slower only if below 1 - margin."""
        if self.low > 1.0 + margin:
            return Speed.FASTER
        return Speed.SLOWER if self.high < 1.0 - margin else Speed.CANNOT_TELL


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One program's samples, a time a round, in the order in which the rounds were run."""

    name: str  # "candidate", "eager", "compile"
    samples_us: tuple[float, ...]

    @property
    def median_us(self) -> float:
        ordered = sorted(self.samples_us)
        middle = len(ordered) // 2
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The paired samples of candidate and baselines, raw, and what follows from them.

    `compile` and `against_compile` are absent when torch.compile fails on the reference.
    """

    provenance: Provenance
    gpu: str  # the one measured on, or the one modelled
    candidate: Series
    eager: Series
    compile: Series | None
    against_eager: Ratio
    against_compile: Ratio | None
    floor_us: float  # speed of light: fewest bytes over bandwidth or fewest operations over the unit's rate
    num_launches: int | None = None  # kernels a call, where counted
    null: Ratio | None = None  # eager against its own copy: how far from 1 a ratio of equals lies in this run
    host_us: float | None = None  # the candidate's time a call by the host's own clock
    num_verified: int = 0  # timed calls whose outputs were compared afterwards
    num_input_sets: int = 0  # different ones that the candidate was timed on
    sm_mhz: tuple[int, ...] = ()  # the multiprocessors' clock after each round, where the driver tells it
    trouble: str = ""  # why the measurement did not settle; then nothing is said of the speed

    @property
    def times_floor(self) -> float:
        """Candidate's time over the floor; 1 is the speed of light."""
        return self.candidate.median_us / self.floor_us

    @property
    def smallest_effect(self) -> float:
        """The smallest difference from 1 that this run can tell from noise, from the null control."""
        return 0.0 if self.null is None else max(self.null.high - 1.0, 1.0 - self.null.low, 0.0)

    @property
    def speed(self) -> Speed:
        """Against the better baseline, beyond the smallest effect that can be told."""
        if self.trouble:
            return Speed.CANNOT_TELL
        return self.best_baseline.speed(self.smallest_effect)

    @property
    def is_fast(self) -> bool:
        """Measured faster than both baselines; or modelled slower than neither.

        torch.compile is modelled as perfect fusion, so a model can at best show a program level with it.
        """
        speed = self.speed
        if self.provenance is Provenance.MODELLED:
            return speed is not Speed.SLOWER and self.against_eager.centre > 1.0
        return speed is Speed.FASTER

    @property
    def best_baseline(self) -> Ratio:
        """The ratio against the faster of the two baselines."""
        if self.against_compile is None or self.against_eager.centre <= self.against_compile.centre:
            return self.against_eager
        return self.against_compile
