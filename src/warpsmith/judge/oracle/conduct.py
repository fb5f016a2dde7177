"""How a reference behaves from call to call: randomness, state, what it writes to, dtypes and modes."""

import math
from collections.abc import Iterator
from typing import Any

import torch

from warpsmith.core.audit import Finding, Kind, Severity
from warpsmith.judge.fingerprint import fingerprint
from warpsmith.judge.oracle.compare import deviation, finite, target
from warpsmith.judge.oracle.examination import RERUN, agree
from warpsmith.judge.oracle.subject import Subject, copied, held_tensors, twin_of
from warpsmith.judge.tensorfile import changed, leaves

WORST_ERROR = 1e-2  # of the reference against float64, beyond which its tolerance says little
SLOW_FORWARD_S = 2.0  # beyond which half precision on CPU cores may take minutes
RAISES = (RuntimeError, TypeError, ValueError, LookupError, AttributeError, AssertionError, ArithmeticError)
HALVES = (torch.float16, torch.bfloat16)


def unrepeatable(subject: Subject) -> Iterator[Finding]:
    """Whether the reference passes against itself. Nothing else can be told if it does not."""
    first, again = subject.answers[0], subject.run(subject.inputs[0])
    if agree(first, again):
        other = subject.run(subject.inputs[0], subject.seed + RERUN)
        if not agree(first, other):
            apart = _apart(first, other)
            yield Finding(
                kind=Kind.RANDOM,
                severity=Severity.DEGENERATE,
                subject="forward",
                evidence=f"the same inputs under another seed: the answer is off by {apart:.1e}",
                repair="take random numbers as an input, or leave them out; dropout belongs into a "
                "module, which eval mode turns off",
            )
        return
    apart = _apart(first, again)
    evidence = f"the same inputs and the same seed again, after others: the answer is off by {apart:.1e}"
    if _fresh_copies_agree(subject):
        yield Finding(
            kind=Kind.KEEPS_STATE,
            severity=Severity.DEGENERATE,
            subject="forward",
            evidence=f"{evidence}, though two fresh copies of the model agree",
            repair="take the state as an input of forward and return the new one",
        )
    else:
        yield Finding(
            kind=Kind.UNSTABLE,
            severity=Severity.DEGENERATE,
            subject="the output",
            evidence=evidence,
            repair="leave out what depends on anything but weights and inputs, or compute in a finer dtype",
        )


def side_effects(subject: Subject) -> Iterator[Finding]:
    """What one call writes to beside its output."""
    inputs = copied(subject.inputs[-1])  # others than in the call before
    before = [fingerprint(tensor) for tensor in leaves(inputs)]
    held = {name: fingerprint(tensor) for name, _, tensor in held_tensors(subject.model)}
    subject.num_forwards += 1
    subject.reference.answer(inputs, subject.seed)
    changed_inputs = [
        str(index)
        for index, (mark, tensor) in enumerate(zip(before, leaves(inputs), strict=True))
        if fingerprint(tensor) != mark
    ]
    if changed_inputs:
        yield Finding(
            kind=Kind.CHANGES_INPUTS,
            severity=Severity.DEGENERATE,
            subject=f"tensor {', '.join(changed_inputs)} of the inputs",
            evidence="its bits differ after one call",
            repair="let forward work on a copy (x.clone()), or without in-place operators",
        )
    changed_held = [
        name for name, _, tensor in held_tensors(subject.model) if held.get(name) != fingerprint(tensor)
    ]
    if changed_held:
        yield Finding(
            kind=Kind.KEEPS_STATE,
            severity=Severity.SUSPICIOUS,
            subject=_listed(changed_held),
            evidence="its bits differ after one call on other inputs",
            repair="keep what is computed in local variables; take a state as an input and return it",
        )


def figures(subject: Subject) -> Iterator[Finding]:
    """What the numbers are like: finite, and known well enough to hold an answer against."""
    for index, tensor in enumerate(leaves(subject.answers[0])):
        bad = int((~finite(tensor)).sum()) if tensor.numel() else 0
        if bad:
            share = bad / tensor.numel()
            yield Finding(
                kind=Kind.NONFINITE,
                severity=Severity.DEGENERATE if bad == tensor.numel() else Severity.SUSPICIOUS,
                subject=f"output {index}",
                evidence=f"{bad} of {tensor.numel()} elements ({100 * share:.2g}%) are NaN or infinite",
                repair="narrow the range of the inputs, or subtract the maximum before an exponential",
            )
    worst = max(bound.reference_error for bound in subject.bounds)
    if subject.examination.has_truth and worst > WORST_ERROR:
        yield Finding(
            kind=Kind.ILL_CONDITIONED,
            severity=Severity.DEGENERATE if not math.isfinite(worst) else Severity.SUSPICIOUS,
            subject="the output",
            evidence=f"the reference's own error against float64 is {worst:.1e}, so "
            f"{max(bound.allowed for bound in subject.bounds):.1e} is allowed",
            repair="keep differences of large numbers and long recurrences out, or work in a finer dtype",
        )
    if not subject.examination.has_truth and any(not goal.is_exact for goal in subject.goals[0]):
        yield Finding(
            kind=Kind.NO_TRUTH,
            severity=Severity.NOTE,
            subject="the output",
            evidence="the reference cannot run in float64, so its own error is unknown",
            repair="make tensors in forward with the dtype and device of an input",
        )


def modes(subject: Subject) -> Iterator[Finding]:
    """What the model would do in train mode, in which others may run it."""
    dropouts = [
        f"{name} (p={module.p:g})"
        for name, module in subject.model.named_modules()
        if isinstance(module, torch.nn.modules.dropout._DropoutNd) and module.p > 0
    ]
    norms = [
        name
        for name, module in subject.model.named_modules()
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.track_running_stats
    ]
    if dropouts:
        yield _mode(
            _listed(dropouts), "drops at random in train mode: the reference then fails against itself"
        )
    if norms:
        yield _mode(
            _listed(norms), "in train mode uses the batch's own statistics and updates running ones unseen"
        )


def dtypes(subject: Subject) -> Iterator[Finding]:
    """Whether the task works in half precision, and whether its integers may be cast. Informational."""
    integers = [
        tensor
        for tensor in leaves(subject.inputs[0])
        if not (tensor.is_floating_point() or tensor.is_complex())
    ]
    if integers and (problem := _problem(subject, subject.model, _all_float(subject.inputs[0]))):
        yield Finding(
            kind=Kind.DTYPE,
            severity=Severity.NOTE,
            subject="integer inputs",
            evidence=f"cast to float32 with the others, the reference raises: {problem}",
            repair="cast floating-point inputs alone",
        )
    if subject.forward_s > SLOW_FORWARD_S and subject.reference.model is not None:
        return
    for dtype in HALVES:
        model = twin_of(subject.model)
        if model is None:
            return
        given = _cast(subject.inputs[0], dtype)
        problem = _problem(subject, model.to(dtype), given)
        if problem:
            yield Finding(
                kind=Kind.DTYPE,
                severity=Severity.NOTE,
                subject=str(dtype).removeprefix("torch."),
                evidence=problem,
                repair="make tensors in forward with the dtype of an input, and keep the inputs in its range",
            )


def _problem(subject: Subject, model: torch.nn.Module, inputs: list[Any]) -> str | None:
    """Why a model cannot be used with these inputs."""
    subject.num_forwards += 1
    try:
        answer = model(*inputs)
    except RAISES as error:
        return f"{type(error).__name__}: {next(iter(str(error).splitlines()), ''):.120}"
    was_finite = all(bool(finite(tensor).all()) for tensor in leaves(subject.answers[0]))
    if was_finite and not all(bool(finite(tensor).all()) for tensor in leaves(answer)):
        return "the output is not finite"
    return None


def _fresh_copies_agree(subject: Subject) -> bool:
    answers = []
    for twin in (twin_of(subject.model), twin_of(subject.model)):
        if twin is None:
            return False
        torch.manual_seed(subject.seed)
        answers.append(twin(*copied(subject.inputs[0])))
    return agree(*answers)


def _apart(answer: Any, other: Any) -> float:
    """The largest error of one answer held against another."""
    pairs = zip(leaves(answer), leaves(other), strict=False)
    return max(
        (deviation(target(one, None), two).error for one, two in pairs if one.shape == two.shape), default=0.0
    )


def _mode(subject: str, evidence: str) -> Finding:
    return Finding(
        kind=Kind.MODE,
        severity=Severity.NOTE,
        subject=subject,
        evidence=evidence,
        repair="say which mode is meant, and compare buffers afterwards in train mode",
    )


def _all_float(inputs: list[Any]) -> list[Any]:
    return list(changed(inputs, lambda tensor: tensor.float() if not tensor.is_complex() else tensor))


def _cast(inputs: list[Any], dtype: torch.dtype) -> list[Any]:
    return list(
        changed(inputs, lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor.clone())
    )


def _listed(names: list[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
