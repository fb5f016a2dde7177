"""A task's audit: every probe, the cheap and decisive first, until the time is up."""

import warnings
from collections.abc import Iterator

from warpsmith.core.audit import Finding, Severity
from warpsmith.judge import flags
from warpsmith.judge.oracle.ablation import idle_operators, telltale_operators
from warpsmith.judge.oracle.conduct import dtypes, figures, modes, side_effects, unrepeatable
from warpsmith.judge.oracle.examination import known_outputs
from warpsmith.judge.oracle.flow import Trace, traced
from warpsmith.judge.oracle.reference import Reference
from warpsmith.judge.oracle.sensitivity import (
    dead_inputs,
    dead_weights,
    fixed_inputs,
    gradients_of,
    neutral_weights,
)
from warpsmith.judge.oracle.subject import Subject, copied
from warpsmith.judge.oracle.telling import blind_findings, equal_slices, fixed_tolerance_findings
from warpsmith.judge.protocol import Audit, Audited
from warpsmith.judge.tensorfile import leaves


def audited(request: Audit) -> Audited:
    """All findings. Raises TaskProblem if the reference cannot be run at all."""
    warnings.simplefilter("ignore")
    flags.pin(request.open.regime.precision, request.open.device)
    reference = Reference(request.open.source, request.open.device, request.open.seed, request.open.regime)
    subject = Subject(reference, request.open, request.budget_s)
    skipped: list[str] = []
    findings = list(_findings(subject, request, skipped))
    return Audited(
        inputs=tuple(_described(subject)),
        findings=tuple(sorted(findings, key=lambda finding: list(Severity).index(finding.severity))),
        num_forwards=subject.num_forwards,
        skipped=tuple(skipped),
    )


def _findings(subject: Subject, request: Audit, skipped: list[str]) -> Iterator[Finding]:
    against_itself = list(unrepeatable(subject))
    yield from against_itself
    if against_itself:
        skipped.append("everything else: the reference fails against itself")
        return
    yield from figures(subject)
    yield from side_effects(subject)
    known = known_outputs(subject.reference, subject.examination)
    blind = blind_findings(known)
    yield from blind
    yield from equal_slices(known)
    yield from fixed_tolerance_findings(known)
    yield from fixed_inputs(subject)
    yield from neutral_weights(subject)
    trace = _traced(subject, request)
    yield from telltale_operators(trace)
    is_blind = any(finding.severity is Severity.DEGENERATE for finding in blind)
    if is_blind:
        skipped.append(
            "which inputs, weights and operators matter: none does, as long as nothing is told apart"
        )
    else:
        gradients = gradients_of(subject)
        yield from dead_inputs(subject, gradients)
        yield from dead_weights(subject, gradients)
        yield from idle_operators(subject, trace, skipped)
    yield from modes(subject)
    yield from dtypes(subject)


def _traced(subject: Subject, request: Audit) -> Trace:
    subject.num_forwards += 1
    given = copied(subject.inputs[0])
    return traced(lambda: subject.reference.answer(given, subject.seed), subject.model, request.open.source)


def _described(subject: Subject) -> Iterator[str]:
    """Type and shape of each tensor of the inputs, with its name where it is known."""
    names = subject.reference.input_names()
    tensors = list(leaves(subject.inputs[0]))
    for index, tensor in enumerate(tensors):
        name = f"{names[index]} " if len(tensors) <= len(names) else ""
        yield f"{name}{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
