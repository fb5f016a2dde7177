"""A task: a PyTorch module to be made faster, in KernelBench's format."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum


class Precision(StrEnum):
    """How much rounding a candidate may add, named after the arithmetic that would cause it."""

    REFERENCE = "reference"  # the class of the reference's own dtype: fp32 stays fp32
    TF32 = "tf32"  # products rounded to 10 mantissa bits are accepted


class Dtype(StrEnum):
    """What floating-point type inputs and parameters are given to reference and candidate in."""

    OWN = "own"  # as the task's file makes them
    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """What error is allowed, relative to the error that the reference itself makes against float64.

    An element's error is |y - t| / (|t| + s), s the root mean square of its row of the float64 truth t.
    The largest one may be `times_reference` times the reference's, or `floor_eps` machine epsilons.
    """

    times_reference: float = 16.0
    floor_eps: float = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A reference program and how its replacement is to be judged.

    `source` is a Python module that defines `Model`, `get_inputs` and `get_init_inputs`.
    """

    task_id: str
    source: str
    provenance: str  # where it came from, for a reader: a path, a suite and its version
    scale: float = 1.0  # what the file's own SCALE was set to
    precision: Precision = Precision.REFERENCE
    tolerance: Tolerance = Tolerance()
    dtype: Dtype = Dtype.OWN
    is_training: bool = False  # the model runs in train mode, and its buffers are compared afterwards
    has_backward: bool = False  # gradients of inputs and parameters are compared too

    @property
    def digest(self) -> str:
        """A key over all that a verdict on this task depends on."""
        options = (
            self.precision,
            repr(self.tolerance),
            self.dtype,
            str(self.is_training),
            str(self.has_backward),
        )
        text = "\0".join((self.source, *options))
        return hashlib.sha256(text.encode()).hexdigest()
