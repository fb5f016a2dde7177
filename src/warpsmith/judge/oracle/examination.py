"""What is known of a task once its reference has run: input sets, targets, bounds; or why it is unusable."""

from dataclasses import dataclass
from typing import Any

import torch

from warpsmith.core import Precision, PrecisionClass, Tolerance
from warpsmith.judge import flags
from warpsmith.judge.calls import OUTPUT
from warpsmith.judge.fingerprint import fingerprints
from warpsmith.judge.oracle.choices import Choice, ChoiceWatch
from warpsmith.judge.oracle.compare import (
    Deviation,
    Target,
    allowed_error,
    deviation,
    finite,
    is_usable_truth,
    target,
)
from warpsmith.judge.oracle.reference import Reference, TaskProblem
from warpsmith.judge.oracle.rounding import BF16_BITS, TF32_BITS, LongestSum, Rounding, cut_off, nearest
from warpsmith.judge.oracle.telling import Known, check_telling
from warpsmith.judge.protocol import Open
from warpsmith.judge.tensorfile import changed, foreign_type, leaves

RERUN = 1  # added to a set's seed to draw other random numbers on the same inputs
HALVES = (torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2)
DRAWN = {
    False: "the model runs in eval mode, so dropout modules are fine",
    True: "the model runs in train mode, so give dropout modules p=0",
}
ROUNDED_DTYPES = (torch.float32, torch.complex64)


@dataclass(frozen=True, slots=True)
class Case:
    """One input set and what the outputs should be, as a tree with `Target`s for tensors."""

    inputs: list[Any]
    targets: Any


@dataclass(frozen=True, slots=True)
class Bound:
    """What error one output may have, and what the reference's own is; both over all input sets."""

    allowed: float
    reference_error: float
    rounding: Rounding | None = None  # what rounded operands do to it; None if that says nothing

    def explains(self, goal: Target, rms: float) -> PrecisionClass:
        """The finest arithmetic that explains an answer with these errors."""
        if goal.dtype in HALVES:
            return PrecisionClass.HALF
        return PrecisionClass.FP32 if self.rounding is None else self.rounding.explains(rms)


@dataclass(frozen=True, slots=True)
class Examination:
    """`bounds` has one entry a tensor of the outputs, in their order."""

    cases: tuple[Case, ...]
    bounds: tuple[Bound, ...]
    has_truth: bool


def examine(reference: Reference, request: Open) -> Examination:
    """Run the reference on `num_inputs` sets. Raises TaskProblem if the task cannot be judged."""
    seeds = input_seeds(request)
    inputs = [reference.inputs(seed) for seed in seeds]
    before = fingerprints(leaves(inputs[0]))
    answers = [reference.answer(given, seed) for given, seed in zip(inputs, seeds, strict=True)]
    if fingerprints(leaves(inputs[0])) != before:
        raise TaskProblem("the reference changes its own inputs; let forward work on a copy (x.clone())")
    for answer in answers:
        _check_answer(answer)
    _check_repeatable(reference, inputs[0], answers[0], seeds[0])
    examination = held(reference, request, inputs, answers, seeds)
    check_telling(known_outputs(reference, examination))
    return examination


def held(
    reference: Reference, request: Open, inputs: list[Any], answers: list[Any], seeds: list[int]
) -> Examination:
    """What these answers bound, whatever may be wrong with the task."""
    twins = _twins(reference, inputs, answers, seeds)
    has_truth = twins[0].answer is not None
    cases = tuple(
        Case(inputs=given, targets=_targets(answer, twin))
        for given, answer, twin in zip(inputs, answers, twins, strict=True)
    )
    bounds = _bounds(reference, cases, answers, request, seed=seeds[0])
    return Examination(cases=cases, bounds=bounds, has_truth=has_truth)


def input_seeds(request: Open) -> list[int]:
    """Of the input sets; none is the weights' own, from which the same numbers would be drawn."""
    return [request.seed + 2 * index for index in range(1, request.num_inputs + 1)]


def one_case(reference: Reference, inputs: list[Any], seed: int, *, has_truth: bool) -> Case:
    """A further input set with its targets; against the reference's own answer where no truth is usable."""
    answer = reference.answer(inputs, seed)
    twin = _twin(reference, inputs, answer, seed) if has_truth else NO_TWIN
    return Case(inputs=inputs, targets=_targets(answer, twin))


def known_outputs(reference: Reference, examination: Examination) -> list[Known]:
    """What forward returns in each case; without buffers and gradients, which say less of a task."""
    is_plain = not (reference.regime.is_training or reference.regime.has_backward)
    cases = [
        (case.inputs, target_leaves(case.targets if is_plain else case.targets[OUTPUT]))
        for case in examination.cases
    ]
    allowed = [bound.allowed for bound in examination.bounds[: len(cases[0][1])]]  # the outputs come first
    return [Known(inputs=inputs, goals=goals, allowed=allowed) for inputs, goals in cases]


def target_leaves(tree: Any) -> list[Target]:
    """The targets of a tree, in order."""
    found: list[Target] = []
    changed(tree, found.append, Target)
    return found


def _check_answer(answer: Any) -> None:
    if name := foreign_type(answer):
        raise TaskProblem(
            f"the reference returns a {name}; return tensors, or tuples, lists and dicts of them"
        )
    tensors = list(leaves(answer))
    if not tensors:
        raise TaskProblem(
            "the reference returns no tensor; let forward return what a candidate has to compute"
        )
    for tensor in tensors:
        if tensor.numel() and not finite(tensor).any():
            raise TaskProblem(
                "the reference's output is NaN or infinite everywhere; give it inputs of a sane range"
            )


@dataclass(frozen=True, slots=True)
class Twin:
    """The float64 twin of an answer, if there is one, and where each of its integer outputs points."""

    answer: Any
    choices: tuple[Choice | None, ...] = ()


NO_TWIN = Twin(None)


def _twins(reference: Reference, inputs: list[Any], answers: list[Any], seeds: list[int]) -> list[Twin]:
    """Twins of all answers; none of any if one cannot be had."""
    twins: list[Twin] = []
    for given, answer, seed in zip(inputs, answers, seeds, strict=True):
        twin = _twin(reference, given, answer, seed)
        if twin.answer is None:
            return [NO_TWIN] * len(answers)
        twins.append(twin)
    return twins


def _twin(reference: Reference, inputs: list[Any], answer: Any, seed: int) -> Twin:
    with ChoiceWatch() as watch:
        truth = reference.truth(inputs, seed)
    ours, theirs = list(leaves(answer)), list(leaves(truth))
    if len(ours) != len(theirs) or not all(map(is_usable_truth, ours, theirs)):
        return NO_TWIN
    return Twin(
        truth,
        tuple(watch.choice(tensor, inputs) if tensor.dtype is torch.int64 else None for tensor in theirs),
    )


def _targets(answer: Any, twin: Twin) -> Any:
    truths, choices = iter(leaves(twin.answer)), iter(twin.choices)
    return changed(answer, lambda tensor: target(tensor, next(truths, None), next(choices, None)))


def _bounds(
    reference: Reference, cases: tuple[Case, ...], answers: list[Any], request: Open, *, seed: int
) -> tuple[Bound, ...]:
    errors = [
        max(deviation(goal, tensor).error for goal, tensor in pairs)
        for pairs in zip(*map(_pairs, cases, answers), strict=True)
    ]
    roundings = _roundings(reference, cases[0], answers[0], request, seed)
    policy, tolerance = request.regime.precision, request.tolerance
    return tuple(
        Bound(
            allowed=allowed_error(
                goal.dtype, error, tolerance, policy, has_truth=goal.has_truth, rounding=rounding
            ),
            reference_error=error,
            rounding=rounding,
        )
        for goal, error, rounding in zip(target_leaves(cases[0].targets), errors, roundings, strict=True)
    )


def _pairs(case: Case, answer: Any) -> list[tuple[Target, torch.Tensor]]:
    return list(zip(target_leaves(case.targets), leaves(answer), strict=True))


def _roundings(
    reference: Reference, case: Case, answer: Any, request: Open, seed: int
) -> list[Rounding | None]:
    """What rounding does to each output of a case."""
    goals, policy = target_leaves(case.targets), request.regime.precision
    if not any(goal.dtype in ROUNDED_DTYPES for goal in goals):
        return [None] * len(goals)
    is_tf32 = policy is Precision.TF32
    try:
        with flags.pinned(Precision.REFERENCE, request.device, then=policy):
            exact = reference.answer(case.inputs, seed) if is_tf32 else answer
            with LongestSum() as sums:
                tf32 = reference.rounded(case.inputs, seed, nearest(TF32_BITS))
            cut = reference.rounded(case.inputs, seed, cut_off(TF32_BITS)) if is_tf32 else tf32
            half = reference.rounded(case.inputs, seed, nearest(BF16_BITS))
    except TaskProblem:  # it refuses inputs that differ in their last bits
        return [None] * len(goals)
    found = zip(
        *([deviation(*pair) for pair in _pairs(case, run)] for run in (exact, tf32, cut, half)), strict=True
    )
    return [_rounding(goal, sums.length, *each) for goal, each in zip(goals, found, strict=True)]


def _rounding(
    goal: Target, length: int, exact: Deviation, tf32: Deviation, cut: Deviation, half: Deviation
) -> Rounding | None:
    if goal.dtype not in ROUNDED_DTYPES:
        return None
    return Rounding(
        exact_rms=exact.rms,
        tf32_rms=tf32.rms,
        cut_rms=cut.rms,
        half_rms=half.rms,
        exact_max=exact.error,
        tf32_max=max(tf32.error, cut.error),
        half_max=half.error,
        length=length,
    )


def _check_repeatable(reference: Reference, inputs: list[Any], answer: Any, seed: int) -> None:
    """Raises TaskProblem unless another run, with other random numbers, gives the same but for rounding."""
    if agree(answer, reference.answer(inputs, seed + RERUN)):
        return
    if agree(answer, reference.answer(inputs, seed)):
        raise TaskProblem(
            "the reference draws random numbers in forward, so no answer is right; take them as an input or "
            f"leave them out ({DRAWN[reference.regime.is_training]})"
        )
    raise TaskProblem(
        "the reference gives different answers for the same input; it must not keep state between calls"
    )


def agree(answer: Any, other: Any) -> bool:
    """Whether two answers of the reference are the same but for rounding."""
    pairs = list(zip(leaves(answer), leaves(other), strict=False))
    return all(
        one.shape == two.shape
        and one.dtype == two.dtype
        and deviation(target(one, None), two).error
        <= allowed_error(one.dtype, 0.0, Tolerance(), Precision.REFERENCE, has_truth=False)
        for one, two in pairs
    )
