"""What is known of a task once its reference has run: input sets, targets, bounds; or why it is unusable."""

from dataclasses import dataclass
from typing import Any

import torch

from warpsmith.core import Precision, Tolerance
from warpsmith.judge.fingerprint import fingerprints
from warpsmith.judge.oracle.compare import Target, allowed_error, deviation, finite, is_usable_truth, target
from warpsmith.judge.oracle.reference import Reference, TaskProblem
from warpsmith.judge.protocol import Open
from warpsmith.judge.tensorfile import changed, foreign_type, leaves

RERUN = 1  # added to a set's seed to draw other random numbers on the same inputs


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


@dataclass(frozen=True, slots=True)
class Examination:
    """`bounds` has one entry a tensor of the outputs, in their order."""

    cases: tuple[Case, ...]
    bounds: tuple[Bound, ...]
    has_truth: bool


def examine(reference: Reference, request: Open) -> Examination:
    """Run the reference on `num_inputs` sets. Raises TaskProblem if the task cannot be judged."""
    seeds = [request.seed + 2 * index for index in range(request.num_inputs)]
    inputs = [reference.inputs(seed) for seed in seeds]
    before = fingerprints(leaves(inputs[0]))
    answers = [reference.answer(given, seed) for given, seed in zip(inputs, seeds, strict=True)]
    if fingerprints(leaves(inputs[0])) != before:
        raise TaskProblem("the reference changes its own inputs; let forward work on a copy (x.clone())")
    for answer in answers:
        _check_answer(answer)
    _check_repeatable(reference, inputs[0], answers[0], seeds[0])
    truths = _truths(reference, inputs, answers, seeds)
    cases = tuple(
        Case(inputs=given, targets=_targets(answer, truth))
        for given, answer, truth in zip(inputs, answers, truths, strict=True)
    )
    bounds = _bounds(cases, answers, request, has_truth=truths[0] is not None)
    _check_telling(cases[0], bounds)
    return Examination(cases=cases, bounds=bounds, has_truth=truths[0] is not None)


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


def _truths(reference: Reference, inputs: list[Any], answers: list[Any], seeds: list[int]) -> list[Any]:
    """Float64 twins of all answers; all None if any cannot be had."""
    truths: list[Any] = []
    for given, answer, seed in zip(inputs, answers, seeds, strict=True):
        truth = reference.truth(given, seed)
        pairs = zip(leaves(answer), leaves(truth), strict=False)
        if len(list(leaves(truth))) != len(list(leaves(answer))) or not all(
            is_usable_truth(*pair) for pair in pairs
        ):
            return [None] * len(answers)
        truths.append(truth)
    return truths


def _targets(answer: Any, truth: Any) -> Any:
    twins = iter(leaves(truth))

    def one(tensor: torch.Tensor) -> Target:
        twin = next(twins, None)
        is_exact = not (tensor.is_floating_point() or tensor.is_complex())
        return target(tensor, None if is_exact else twin)

    return changed(answer, one)


def _bounds(
    cases: tuple[Case, ...], answers: list[Any], request: Open, *, has_truth: bool
) -> tuple[Bound, ...]:
    errors: list[float] = []
    for case, answer in zip(cases, answers, strict=True):
        pairs = zip(target_leaves(case.targets), leaves(answer), strict=True)
        found = [deviation(goal, tensor).error for goal, tensor in pairs]
        errors = [max(pair) for pair in zip(errors, found, strict=True)] if errors else found
    precision = Precision(request.precision)
    return tuple(
        Bound(
            allowed=allowed_error(goal.dtype, error, request.tolerance, precision, has_truth=has_truth),
            reference_error=error,
        )
        for goal, error in zip(target_leaves(cases[0].targets), errors, strict=True)
    )


def _check_repeatable(reference: Reference, inputs: list[Any], answer: Any, seed: int) -> None:
    """Raises TaskProblem unless another run, with other random numbers, gives the same but for rounding."""
    if _agree(answer, reference.answer(inputs, seed + RERUN)):
        return
    if _agree(answer, reference.answer(inputs, seed)):
        raise TaskProblem(
            "the reference draws random numbers in forward, so no answer is right; take them as an input or "
            "leave them out (the model runs in eval mode, so dropout modules are fine)"
        )
    raise TaskProblem(
        "the reference gives different answers for the same input; it must not keep state between calls"
    )


def _agree(answer: Any, other: Any) -> bool:
    pairs = list(zip(leaves(answer), leaves(other), strict=False))
    return all(
        one.shape == two.shape
        and one.dtype == two.dtype
        and deviation(target(one, None), two).error
        <= allowed_error(one.dtype, 0.0, Tolerance(), Precision.REFERENCE, has_truth=False)
        for one, two in pairs
    )


def _check_telling(case: Case, bounds: tuple[Bound, ...]) -> None:
    """Raises TaskProblem if an answer of zeros would be taken for right."""
    for goal, bound in zip(target_leaves(case.targets), bounds, strict=True):
        zeros = torch.zeros(goal.shape, dtype=goal.dtype, device=goal.value.device)
        if deviation(goal, zeros).error > bound.allowed:
            return
    raise TaskProblem(
        "an answer of zeros would pass, so the task proves nothing; give it inputs or weights for which the "
        "output is not zero, or work in a finer dtype"
    )
