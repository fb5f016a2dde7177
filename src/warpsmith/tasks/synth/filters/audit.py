"""What remains of the judge's audit once conduct and telling have been looked at, on the runs made for them.

The judge's own `audited` would build and run the reference anew, which for thousands of tasks costs more GPU
time than everything else. That no probe of it is left out here is held by a test.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from warpsmith.core.audit import Finding
from warpsmith.judge.oracle.ablation import idle_operators, telltale_operators
from warpsmith.judge.oracle.conduct import dtypes, figures, modes
from warpsmith.judge.oracle.flow import traced
from warpsmith.judge.oracle.sensitivity import (
    dead_inputs,
    dead_weights,
    fixed_inputs,
    gradients_of,
    neutral_weights,
)
from warpsmith.judge.oracle.subject import Subject, copied
from warpsmith.judge.oracle.telling import Known, blind_findings, equal_slices, fixed_tolerance_findings


def remaining_findings(
    subject: Subject, known: Sequence[Known], source: Path, skipped: list[str]
) -> Iterator[Finding]:
    """Findings of the probes that `conduct` and `Tell` do not run, in the judge's order.

    `blind_findings` is among them for tasks with several outputs, of which one may be blind.
    """
    yield from figures(subject)
    yield from blind_findings(known)
    yield from equal_slices(known)
    yield from fixed_tolerance_findings(known)
    yield from fixed_inputs(subject)
    yield from neutral_weights(subject)
    given = copied(subject.inputs[0])
    trace = traced(lambda: subject.reference.answer(given, subject.seed), subject.model, source)
    yield from telltale_operators(trace)
    gradients = gradients_of(subject)
    yield from dead_inputs(subject, gradients)
    yield from dead_weights(subject, gradients)
    yield from idle_operators(subject, trace, skipped)
    yield from modes(subject)
    yield from dtypes(subject)
