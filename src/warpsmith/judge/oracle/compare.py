"""Whether a tensor is what it should be. Works in blocks: a large tensor is never held twice in float64."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import torch

from warpsmith.core import Precision, Tolerance
from warpsmith.judge.oracle.choices import Choice
from warpsmith.judge.oracle.rounding import Rounding

BLOCK = 1 << 22
ROW_FLOOR = 1e-3  # a row much smaller than the whole is measured against the whole

TF32_EPS = 2.0**-10
TIMES_TF32 = 2.5
MOST_TF32_EPS = 16.0  # rounding may flip a comparison in a task, and must not excuse everything
HALF_OVER_SUMS = 4.0
PLAIN_HALF_ERROR = 2.0**-6  # beyond it a task blows rounding up, also that of an honest program
LEAST_OF_SUMS = 8.0

# What is allowed where no float64 truth can be had, in machine epsilons, by the element's size in bytes: the
# reference's own error is unknown then, and a sum of a few thousand products in another order stays within
# it.
EPS_WITHOUT_TRUTH = {1: 4.0, 2: 8.0, 4: 1024.0, 8: 1024.0}


@dataclass(frozen=True, slots=True)
class Target:
    """What one output should be: `value` is float64 truth if `has_truth`, else the reference's own answer."""

    value: torch.Tensor
    nonfinite: torch.Tensor | None  # the reference's answer, kept only where not all of it is finite
    dtype: torch.dtype
    shape: tuple[int, ...]
    device: str
    has_truth: bool
    other: torch.Tensor | None = None  # an integer or boolean answer that is as right, element by element
    choice: Choice | None = None  # for an index: what it points into

    @property
    def is_exact(self) -> bool:
        """Integers and booleans have no tolerance."""
        return not (self.dtype.is_floating_point or self.dtype.is_complex)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """How far an answer is off. Indices are into the flattened answer."""

    error: float
    sum_of_squares: float = 0.0  # of all elements' errors, where they are finite
    num_elements: int = 0
    num_wrong: int = 0
    num_nan: int = 0  # among the wrong
    worst: int = 0
    first: int = 0
    last: int = 0

    @property
    def rms(self) -> float:
        """The root mean square of all errors: one wrong element hardly moves it, other arithmetic does."""
        return math.sqrt(self.sum_of_squares / self.num_elements) if self.num_elements else 0.0

    def halved(self) -> "Deviation":
        """The same with indices of complex numbers instead of their parts."""
        return replace(self, worst=self.worst // 2, first=self.first // 2, last=self.last // 2)


def target(reference: torch.Tensor, truth: torch.Tensor | None, choice: Choice | None = None) -> Target:
    """What an answer is held against, from the reference's answer and its float64 twin."""
    if not (reference.is_floating_point() or reference.is_complex()):
        return _exact_target(reference, truth, choice)
    is_finite = bool(finite(reference).all())
    return Target(
        value=reference if truth is None else truth,
        nonfinite=None if is_finite else reference,
        dtype=reference.dtype,
        shape=tuple(reference.shape),
        device=reference.device.type,
        has_truth=truth is not None,
    )


def _exact_target(reference: torch.Tensor, truth: torch.Tensor | None, choice: Choice | None) -> Target:
    is_alike = truth is not None and (truth.dtype, truth.shape) == (reference.dtype, reference.shape)
    return Target(
        value=reference,
        nonfinite=None,
        dtype=reference.dtype,
        shape=tuple(reference.shape),
        device=reference.device.type,
        has_truth=False,
        other=truth if is_alike and truth is not None and not torch.equal(truth, reference) else None,
        choice=choice,
    )


def settled(expected: Target, answer: torch.Tensor) -> torch.Tensor:
    """`answer` with the reference's own in place of every choice that is as right (see `choices`)."""
    if expected.other is None and expected.choice is None:
        return answer
    differs = answer != expected.value
    if not bool(differs.any()):
        return answer
    is_right = torch.zeros_like(differs) if expected.other is None else answer == expected.other
    if expected.choice is not None:
        is_right |= expected.choice.is_as_right(answer, expected.value)
    return torch.where(is_right, expected.value, answer)


def is_usable_truth(reference: torch.Tensor, truth: torch.Tensor) -> bool:
    """Whether `truth` is more precise than `reference` and finite wherever that is."""
    if not (reference.dtype.is_floating_point or reference.dtype.is_complex):
        return True
    is_finer = (
        truth.dtype.itemsize > reference.dtype.itemsize
        and truth.dtype.is_complex == reference.dtype.is_complex
    )
    same_shape = truth.shape == reference.shape
    return (
        is_finer
        and same_shape
        and (bool(finite(truth).all()) or bool((finite(truth) | ~finite(reference)).all()))
    )


def finite(tensor: torch.Tensor) -> torch.Tensor:
    """Where `tensor` is neither NaN nor infinite."""
    is_tiny = tensor.dtype.is_floating_point and tensor.dtype.itemsize == 1
    return torch.isfinite(tensor.float() if is_tiny else tensor)  # torch cannot ask this of float8


def allowed_error(
    dtype: torch.dtype,
    reference_error: float,
    tolerance: Tolerance,
    precision: Precision,
    *,
    has_truth: bool,
    rounding: Rounding | None = None,
) -> float:
    """The largest error that an answer of `dtype` may have; `rounding` is None where none could be tried.

    A sum of n terms may be off by sqrt(n) epsilons, since that is what adding them one by one does, however
    exactly the reference adds; by more where a task blows rounding up, as a gradient does that cancels to
    nothing. But not by so much that half precision would pass, as long as that can be told from a program
    that adds its blocks' sums one by one.
    """
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0
    eps = torch.finfo(dtype).eps
    least = tolerance.floor_eps * eps
    if not has_truth:
        size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
        least = max(least, EPS_WITHOUT_TRUTH[size] * eps)
    elif rounding is None:
        least = max(least, tolerance.times_reference * reference_error)
    else:
        own = reference_error if precision is Precision.REFERENCE else rounding.exact_max
        in_sums = math.sqrt(rounding.length) * eps * max(rounding.half_max / PLAIN_HALF_ERROR, 1.0)
        in_sums = min(in_sums, max(rounding.half_max / HALF_OVER_SUMS, in_sums / LEAST_OF_SUMS))
        least = max(least, tolerance.times_reference * own, in_sums)
    return least if precision is Precision.REFERENCE else max(least, _in_tf32(reference_error, rounding))


def _in_tf32(reference_error: float, rounding: Rounding | None) -> float:
    """Twice what the reference's own TF32 does, or TF32's worst with room for what lies between operators."""
    if rounding is None:
        return MOST_TF32_EPS / 2 * TF32_EPS
    return max(min(TIMES_TF32 * rounding.tf32_max, MOST_TF32_EPS * TF32_EPS), 2 * reference_error)


def deviation(expected: Target, answer: torch.Tensor, allowed: float = math.inf) -> Deviation:
    """How far `answer`, of the target's shape and device, is off; elements over `allowed` are wrong."""
    value, rows = _as_rows(expected.value), _as_rows(answer)
    nonfinite = None if expected.nonfinite is None else _as_rows(expected.nonfinite)
    scale = None if expected.is_exact else _row_scale(value)
    num_cols = rows.shape[1]
    found = Deviation(error=0.0)
    for block in _blocks(*rows.shape):
        y, t = rows[block], value[block]
        if scale is None:
            errors = torch.where(y == t, 0.0, math.inf)
        else:
            like = None if nonfinite is None else nonfinite[block]
            y = y.double()
            errors = _errors(y, t.double(), scale[block[0]].unsqueeze(1), like)
        found = _merged(found, _of_block(errors, y, allowed, partial(_position, block, num_cols)))
    # A complex number is two columns.
    return found.halved() if answer.is_complex() else found


def _position(block: tuple[slice, slice], num_cols: int, position: int) -> int:
    """Where the element at `position` of a block is in the flattened whole."""
    rows, cols = block
    row, col = divmod(position, int(cols.stop) - int(cols.start))
    return (int(rows.start) + row) * num_cols + int(cols.start) + col


def _errors(y: torch.Tensor, t: torch.Tensor, scale: torch.Tensor, like: torch.Tensor | None) -> torch.Tensor:
    """Error of each element; infinite where only one of the two is finite, or they are other infinities."""
    errors = torch.where(y == t, 0.0, (y - t).abs() / (t.abs() + scale))
    errors = torch.where(torch.isfinite(y), errors, math.inf)
    if like is None:
        return errors
    is_same = (torch.isnan(y) & torch.isnan(like)) | (y == like)
    return torch.where(torch.isfinite(like), errors, torch.where(is_same, 0.0, math.inf))


def _merged(found: Deviation, block: Deviation) -> Deviation:
    """Both; `block` comes after all of `found`."""
    is_worse = block.error > found.error
    return Deviation(
        error=max(block.error, found.error),
        sum_of_squares=found.sum_of_squares + block.sum_of_squares,
        num_elements=found.num_elements + block.num_elements,
        num_wrong=found.num_wrong + block.num_wrong,
        num_nan=found.num_nan + block.num_nan,
        worst=block.worst if is_worse else found.worst,
        first=found.first if found.num_wrong else block.first,
        last=block.last if block.num_wrong else found.last,
    )


def _of_block(
    errors: torch.Tensor, y: torch.Tensor, allowed: float, where: Callable[[int], int]
) -> Deviation:
    """The deviation of one block; `where` turns a position in it into one in the whole."""
    worst = int(errors.argmax())
    error = float(errors.reshape(-1)[worst])
    squares = float(torch.where(torch.isfinite(errors), errors, 0.0).square().sum())
    size = errors.numel()
    if error <= allowed:
        return Deviation(error=error, sum_of_squares=squares, num_elements=size, worst=where(worst))
    positions = (errors > allowed).reshape(-1).nonzero()
    return Deviation(
        error=error,
        sum_of_squares=squares,
        num_elements=size,
        num_wrong=len(positions),
        num_nan=int(torch.isnan(y.reshape(-1)[positions]).sum()),
        worst=where(worst),
        first=where(int(positions[0])),
        last=where(int(positions[-1])),
    )


def _as_rows(tensor: torch.Tensor) -> torch.Tensor:
    """[rows, cols] with the last dimension as columns; a complex number is two columns."""
    if tensor.numel() == 0:
        return tensor.new_empty((0, 1), dtype=torch.float32)
    if tensor.is_complex():
        tensor = (
            torch.view_as_real(tensor.resolve_conj()).flatten(-2)
            if tensor.dim()
            else torch.view_as_real(tensor)
        )
    return tensor.reshape(-1, tensor.shape[-1]) if tensor.dim() else tensor.reshape(1, 1)


def _row_scale(value: torch.Tensor) -> torch.Tensor:
    """The root mean square of each row, at least ROW_FLOOR of that of all; only finite elements count."""
    sums = torch.zeros(value.shape[0], dtype=torch.float64, device=value.device)
    for rows, cols in _blocks(*value.shape):
        block = value[rows, cols].double()
        sums[rows] += torch.where(torch.isfinite(block), block, 0.0).square().sum(1)
    if value.numel() == 0:
        return sums
    whole = (sums.sum() / value.numel()).sqrt()
    return torch.maximum((sums / value.shape[1]).sqrt(), ROW_FLOOR * whole)


def _blocks(num_rows: int, num_cols: int) -> Iterator[tuple[slice, slice]]:
    """Slices that cover [num_rows, num_cols] in pieces of about BLOCK elements."""
    cols = min(max(num_cols, 1), BLOCK)
    rows = max(BLOCK // cols, 1)
    for row in range(0, num_rows, rows):
        for col in range(0, num_cols, cols):
            yield slice(row, min(row + rows, num_rows)), slice(col, min(col + cols, num_cols))
