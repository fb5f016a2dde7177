"""What the judge says of a candidate: one of eight outcomes, each with its own evidence.

Only `Passed` is good. `NotRunnable` says nothing about the candidate: this device cannot execute it.
"""

from dataclasses import dataclass

from warpsmith.core.timing import Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """Broke a rule; the program was not judged further."""

    rule: str
    where: str  # file:line
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFailed:
    """The compiler said no."""

    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashed:
    """The program raised, exited or died."""

    stage: str  # "load", "forward", "clock"
    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """The program ran and its answer is not the reference's."""

    what: str  # "structure", "values", "inputs changed", "parameters changed", "weights"
    message: str  # where and by how much, for a reader
    error: float | None = None  # as Tolerance defines it, where values differ
    allowed: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOut:
    """The program did not end within its limit."""

    stage: str
    limit_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRunnable:
    """This device cannot execute the program; another may."""

    device: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Implausible:
    """Right, but its time cannot be true, or cannot be measured here; it earns nothing."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Largest errors against float64, as `Tolerance` defines them, over all inputs and outputs."""

    error: float
    reference_error: float
    allowed: float
    has_truth: bool = True  # False: no float64 truth could be had, errors are against the reference


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelResources:
    """What the compiler reports of one kernel."""

    kernel: str
    arch: str
    registers: int
    spill_bytes: int
    shared_bytes: int
    stack_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The program computes what the reference does. `timing` is absent if only that was asked for."""

    accuracy: Accuracy
    resources: tuple[KernelResources, ...] = ()
    timing: Timing | None = None


Verdict = Rejected | BuildFailed | Crashed | Wrong | TimedOut | NotRunnable | Implausible | Passed
