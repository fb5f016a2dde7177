"""What rounding does to a task's answers: which arithmetic explains a candidate's errors, what to allow it.

How much an error of half precision or TF32 shows depends on the task: a mean over a million numbers hides it,
a difference of two of them blows it up. So it is measured, once a task: the reference runs on operands
rounded to fewer bits. What lies between two such errors is told apart halfway, in logarithms.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from warpsmith.core import PrecisionClass
from warpsmith.judge.names import names
from warpsmith.judge.operators import OperatorListener, Run, name_of
from warpsmith.judge.oracle.record import FREE, GATHERING, OVERWRITING, flops_of
from warpsmith.judge.tensorfile import leaves

TF32_BITS, BF16_BITS = 10, 7  # of the mantissa, beside the leading one
MANTISSA_BITS = {torch.float64: 52, torch.float32: 23, torch.float16: 10, torch.bfloat16: 7}
WORDS = {torch.float64: torch.int64, torch.float32: torch.int32}

EPS = 2.0**-23
EXACT_RMS = EPS / 2  # a reference may be exact where an honest program rounds its last bit
SUM_RMS = EPS / 10  # times sqrt(n): what adding n numbers one by one does
LEAST_STEP = 4.0  # between the errors of two classes, where a task hides the difference
OVER_CUT = 1.25

MAX_LENGTH = 1 << 16  # nobody adds up more than that one by one
SUMLESS = FREE | GATHERING | OVERWRITING | names("new_zeros new_ones new_full")
SCANS = names(
    "cumsum cumprod logcumsumexp _softmax _log_softmax _softmax_backward_data _log_softmax_backward_data"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """Errors that one output has for known reasons: in exact fp32, with TF32 operands, with bf16 ones."""

    exact_rms: float
    tf32_rms: float
    cut_rms: float  # operands cut off, as tensor cores do with fp32 bits: the worst that TF32 does
    half_rms: float
    exact_max: float
    tf32_max: float  # rounded or cut off
    half_max: float
    length: int = 1  # terms of the longest sum

    def explains(self, rms: float) -> PrecisionClass:
        """The finest arithmetic that an error this large is typical of."""
        exact = max(self.exact_rms, EXACT_RMS, SUM_RMS * math.sqrt(self.length))
        tf32 = max(self.tf32_rms, LEAST_STEP * exact)
        half = max(self.half_rms, tf32)
        if rms <= math.sqrt(exact * tf32):
            return PrecisionClass.FP32
        is_tf32 = rms <= max(math.sqrt(tf32 * half), OVER_CUT * self.cut_rms)
        return PrecisionClass.TF32 if is_tf32 else PrecisionClass.HALF


def nearest(bits: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Rounds floating tensors to `bits` mantissa bits, ties away from zero."""
    return lambda tensor: _without_low_bits(tensor, bits, is_rounded=True)


def cut_off(bits: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Drops all but `bits` mantissa bits."""
    return lambda tensor: _without_low_bits(tensor, bits, is_rounded=False)


def _without_low_bits(tensor: torch.Tensor, bits: int, *, is_rounded: bool) -> torch.Tensor:
    if tensor.is_complex():
        parts = _without_low_bits(torch.view_as_real(tensor.resolve_conj()), bits, is_rounded=is_rounded)
        return torch.view_as_complex(parts)
    if tensor.dtype not in WORDS:
        return tensor  # integers, and floats that are that coarse already
    low = MANTISSA_BITS[tensor.dtype] - bits
    words = tensor.detach().clone().view(WORDS[tensor.dtype])
    if is_rounded:
        words += 1 << (low - 1)
    words &= -1 << low
    changed = words.view(tensor.dtype)
    return torch.where(torch.isfinite(tensor) & torch.isfinite(changed), changed, tensor)


class LongestSum(OperatorListener):
    """Hears how many terms the longest sum of a program has, as far as its operators tell."""

    def __init__(self) -> None:
        OperatorListener.__init__(self)
        self.length = 1

    def heard(self, run: Run) -> None:
        self.length = min(max(self.length, _length(run)), MAX_LENGTH)


def _length(run: Run) -> int:
    name, given, out = name_of(run.operator), list(leaves([*run.args])), list(leaves(run.out))
    sizes = [tensor.numel() for tensor in out if tensor.numel()]
    if run.operator.is_view or name in SUMLESS or not given or not sizes:
        return 1
    if flops := flops_of(run):
        return flops // (2 * max(sizes))
    if name in SCANS and given[0].dim() and isinstance(run.args[1], int):
        return given[0].shape[run.args[1]]
    return max(tensor.numel() for tensor in given) // min(sizes)
