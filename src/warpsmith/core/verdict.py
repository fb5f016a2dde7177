"""What the judge says of a candidate: one of eight outcomes, each with its own evidence.

Only `Passed` is good. `NotRunnable` says nothing about the candidate: this device cannot execute it.
"""

from dataclasses import dataclass
from enum import StrEnum

from warpsmith.core.timing import Timing


class PrecisionClass(StrEnum):
    """The finest arithmetic whose rounding explains a candidate's errors, over all its outputs."""

    FP32 = "fp32"  # or exact, as integers are
    TF32 = "tf32"  # operands rounded to 10 bits
    HALF = "half"  # operands or results in fp16 or bf16


class Track(StrEnum):
    """Whose kernels do the work."""

    PURE = "pure"  # the candidate's own alone
    LIBRARIES = "libraries"  # also cuBLAS for matrix products and cuDNN for convolutions


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

    what: str  # "structure", "values", "inputs changed", "parameters changed", "weights", "sanitizer"
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
class Coverage:
    """Who did the work of one call.

    `own_share` is the share of device time spent in kernels of the candidate's own build; None where it
    could not be had, such as on the cpu device or for a program that no CUDA graph can capture.
    """

    track: Track
    own_share: float | None
    own_kernels: tuple[str, ...]
    library_kernels: tuple[str, ...]  # or torch's operators, by name


@dataclass(frozen=True, slots=True, kw_only=True)
class Sanitized:
    """What compute-sanitizer's tools said of one call: nothing, or the verdict is `Wrong`."""

    tools: tuple[str, ...]  # "memcheck", "racecheck", "initcheck", "synccheck"
    scale: float  # of the task's sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class OffShape:
    """How the program did at sizes that were not asked for: a label, never a refusal."""

    scale: float
    is_right: bool
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """The program computes what the reference does. `timing` is absent if only that was asked for."""

    accuracy: Accuracy
    resources: tuple[KernelResources, ...] = ()
    timing: Timing | None = None
    gates: tuple[str, ...] = ()  # passed, in their order
    precision: PrecisionClass | None = None
    coverage: Coverage | None = None
    sanitized: Sanitized | None = None
    off_shapes: tuple[OffShape, ...] = ()
    advice: tuple[str, ...] = ()  # what a reader of the code should look at; no reason to refuse it


Verdict = Rejected | BuildFailed | Crashed | Wrong | TimedOut | NotRunnable | Implausible | Passed
