"""Whether a task's tolerance tells an answer from one that computes nothing. Runs no reference."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from warpsmith.core.audit import Finding, Kind, Severity
from warpsmith.judge.oracle.compare import Target, deviation
from warpsmith.judge.oracle.reference import TaskProblem
from warpsmith.judge.tensorfile import leaves

FIXED_TOLERANCES = (1e-4, 1e-2)  # of KernelBench, absolute and relative; since fp32 has a stricter one

SAMPLE = 1 << 16  # elements that usually tell
FAR = 1e4  # times what is allowed; more than a row's scale and the whole's may be apart

REPAIRS = {
    Kind.ZEROS: "give it inputs or weights for which the output is not zero, or work in a finer dtype",
    Kind.CONSTANT: "keep more than one number's worth of information in the output: a sum, a top-k or a "
    "softmax with a scale in place of a reduction that normalizes everything away",
    Kind.STALE: "scale up the inputs or the weights until the output depends on the inputs (default "
    "initialization shrinks activations layer by layer), or remove what cancels them",
    Kind.COPY: "let forward compute something on its inputs",
}


@dataclass(frozen=True, slots=True)
class Hold:
    """An answer that computes nothing, held against one output."""

    kind: Kind
    error: float
    allowed: float

    @property
    def passes(self) -> bool:
        return self.error <= self.allowed


@dataclass(frozen=True, slots=True)
class Known:
    """One input set, what its outputs should be, and what error each may have."""

    inputs: Any
    goals: Sequence[Target]
    allowed: Sequence[float]


def blind_findings(cases: Sequence[Known]) -> list[Finding]:
    """Of each output that an answer passes for which nothing was computed.

    They are degenerate only together: if one output tells, the task does.
    """
    passing = [
        [hold for hold in holds(cases, index) if hold.passes] for index in range(len(cases[0].allowed))
    ]
    severity = Severity.DEGENERATE if passing and all(passing) else Severity.SUSPICIOUS
    return [
        Finding(
            kind=hold.kind,
            severity=severity,
            subject=output_name(index, len(passing)),
            evidence=f"{WORDS[hold.kind]} is off by {hold.error:.1e}, and {hold.allowed:.1e} is allowed",
            repair=REPAIRS[hold.kind],
        )
        for index, found in enumerate(passing)
        for hold in found
    ]


def check_telling(cases: Sequence[Known]) -> None:
    """Raises TaskProblem if an answer for which nothing was computed would be taken for right."""
    findings = [item for item in blind_findings(cases) if item.severity is Severity.DEGENERATE]
    if findings:
        first = findings[0]
        what, _, figures = first.evidence.partition(" is off by ")
        raise TaskProblem(f"{what} would pass, so the task proves nothing (off by {figures}); {first.repair}")


def fixed_tolerance_findings(cases: Sequence[Known]) -> list[Finding]:
    """Whether an evaluator with an absolute tolerance would be blind here."""
    first, others = cases[0], cases[1:]
    for tolerance in FIXED_TOLERANCES:
        passing = []
        for index, goal in enumerate(first.goals):
            rivals = {Kind.ZEROS: zeros(goal), Kind.CONSTANT: mean(goal)}
            if others:
                rivals[Kind.STALE] = answer_of(others[0].goals[index])
            found = [kind for kind, rival in rivals.items() if _is_close(rival, goal, tolerance)]
            passing.append(found)
        if passing and all(passing):
            return [_fixed(tolerance, first.goals, passing)]
    return []


def equal_slices(cases: Sequence[Known]) -> Iterator[Finding]:
    """Along which dimensions an output repeats itself, so that permuted rows pass too."""
    first = cases[0]
    for index, (goal, allowed) in enumerate(zip(first.goals, first.allowed, strict=True)):
        if goal.is_exact or goal.value.is_complex() or goal.nonfinite is not None:
            continue
        if off_by(goal, mean(goal), allowed) <= allowed:
            continue  # said already, and more
        errors = {dim: off_by(goal, _middle(goal, dim), allowed) for dim, n in enumerate(goal.shape) if n > 1}
        equal = {dim: error for dim, error in errors.items() if error <= allowed}
        if equal:
            yield Finding(
                kind=Kind.EQUAL_SLICES,
                severity=Severity.SUSPICIOUS,
                subject=output_name(index, len(first.goals)),
                evidence=f"along dimension {', '.join(map(str, equal))} of {list(goal.shape)} all slices are "
                f"equal to {max(equal.values()):.1e}, and {allowed:.1e} is allowed: permuted they pass",
                repair="return one slice, or let what it is computed from differ along that dimension",
            )


def _middle(goal: Target, dim: int) -> torch.Tensor:
    return goal.value.double().mean(dim, keepdim=True).expand(goal.shape).to(goal.dtype)


def holds(cases: Sequence[Known], index: int) -> Iterator[Hold]:
    """Answers to output `index` for which nothing is computed."""
    first = cases[0]
    goal, allowed = first.goals[index], first.allowed[index]
    count = goal.value.numel()
    if count:
        yield Hold(Kind.ZEROS, off_by(goal, zeros(goal), allowed), allowed)
    if count > 1:
        yield Hold(Kind.CONSTANT, off_by(goal, mean(goal), allowed), allowed)
    if len(cases) > 1:
        yield Hold(Kind.STALE, _stale_error(cases, index), allowed)
    copies = [
        tensor
        for tensor in leaves(first.inputs)
        if tensor.dtype == goal.dtype and tuple(tensor.shape) == goal.shape
    ]
    if copies and count:
        yield Hold(Kind.COPY, min(off_by(goal, tensor, allowed) for tensor in copies), allowed)


def off_by(goal: Target, answer: torch.Tensor, allowed: float) -> float:
    """The answer's error; where a small part of it is far too wrong already, that part's."""
    if (
        goal.is_exact
        or goal.value.numel() <= 2 * SAMPLE
        or goal.value.dim() < 2
        or goal.nonfinite is not None
    ):
        return deviation(goal, answer).error
    # Rows much smaller than the whole are measured against it, which a part may not show: hence FAR.
    num_rows = max(1, SAMPLE // max(goal.value[0].numel(), 1))
    part = replace(goal, value=goal.value[:num_rows], shape=(num_rows, *goal.shape[1:]))
    error = deviation(part, answer[:num_rows]).error
    is_far = error > FAR * max(allowed, torch.finfo(goal.dtype).eps)
    return error if is_far and num_rows < goal.shape[0] else deviation(goal, answer).error


def answer_of(goal: Target) -> torch.Tensor:
    """The right answer, in its own dtype."""
    return goal.value.to(goal.dtype) if goal.nonfinite is None else goal.nonfinite


def zeros(goal: Target) -> torch.Tensor:
    return torch.zeros(goal.shape, dtype=goal.dtype, device=goal.value.device)


def mean(goal: Target) -> torch.Tensor:
    """The output's own mean everywhere; of integers, the first."""
    value = goal.value
    if goal.is_exact:
        middle = value.reshape(-1)[0]
    else:
        wide = value.to(torch.complex128 if value.is_complex() else torch.float64)
        middle = torch.where(torch.isfinite(wide), wide, 0.0).mean()
    return middle.to(goal.dtype).expand(goal.shape)


def output_name(index: int, count: int) -> str:
    return "the output" if count == 1 else f"output {index}"


WORDS = {
    Kind.ZEROS: "an answer of zeros",
    Kind.CONSTANT: "the output's own mean, everywhere,",
    Kind.STALE: "the answer to other inputs",
    Kind.COPY: "an input, copied,",
}


def _stale_error(cases: Sequence[Known], index: int) -> float:
    """Of the answer to one input set held against that to the next, as far as needed to tell them apart."""
    largest = 0.0
    for one, two in itertools.pairwise(cases):
        goal, stale = one.goals[index], answer_of(two.goals[index])
        if goal.shape != tuple(stale.shape) or goal.dtype != stale.dtype:
            return float("inf")
        largest = max(largest, off_by(goal, stale, one.allowed[index]))
        if largest > one.allowed[index]:
            break
    return largest


def _is_close(rival: torch.Tensor, goal: Target, tolerance: float) -> bool:
    """As torch.allclose has it, with one number for both of its tolerances."""
    if goal.is_exact or goal.value.is_complex() or goal.nonfinite is not None or not goal.value.numel():
        return False
    if rival.shape != goal.value.shape:
        return False
    off = (rival.double() - goal.value.double()).abs_()
    return bool((off <= tolerance + tolerance * goal.value.double().abs()).all())


def _fixed(tolerance: float, goals: Sequence[Target], passing: list[list[Kind]]) -> Finding:
    largest = max(float(goal.value.abs().max()) for goal in goals)
    what = ", ".join(dict.fromkeys(WORDS[kind].rstrip(",") for found in passing for kind in found))
    return Finding(
        kind=Kind.FIXED_TOLERANCE,
        severity=Severity.SUSPICIOUS if tolerance == FIXED_TOLERANCES[0] else Severity.NOTE,
        subject="the output",
        evidence=f"under atol = rtol = {tolerance:g} these pass: {what}; no element exceeds {largest:.1e}",
        repair="hold errors against the output's own scale, as this judge does, or scale the output up",
    )
