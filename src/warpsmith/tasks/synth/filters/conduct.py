"""Whether a reference answers the same again, and leaves no trace of a call but its answer."""

from warpsmith.core.audit import Finding, Kind
from warpsmith.judge.oracle.conduct import side_effects, unrepeatable
from warpsmith.judge.oracle.reference import seed_everything
from warpsmith.judge.oracle.subject import Subject, copied
from warpsmith.tasks.synth.filters.outcome import Reason
from warpsmith.tasks.synth.filters.watching import DrawWatch, notes_of

REASONS = {
    Kind.RANDOM: Reason.RANDOM,
    Kind.UNSTABLE: Reason.UNSTABLE,
    Kind.KEEPS_STATE: Reason.KEEPS_STATE,
    Kind.CHANGES_INPUTS: Reason.CHANGES_INPUTS,
    Kind.ZEROS: Reason.CONSTANT,
    Kind.CONSTANT: Reason.CONSTANT,
    Kind.STALE: Reason.INDISTINGUISHABLE,
    Kind.COPY: Reason.COPIES_INPUT,
}


class Misconduct(Exception):
    """The task is to be refused. Caught by the examination, never seen outside."""

    def __init__(self, reason: Reason, evidence: str) -> None:
        super().__init__(evidence)
        self.reason = reason
        self.evidence = evidence


def reason_of(kind: Kind) -> Reason:
    """What a finding of the judge's is called here."""
    return REASONS.get(kind, Reason.DEGENERATE)


def check_conduct(subject: Subject) -> None:
    """Raises Misconduct.

    What the judge calls suspicious of a task's state is enough to refuse a task of thousands; caches that a
    first call fills and later ones leave alone are fine.
    """
    notes = notes_of(subject.model)
    for finding in unrepeatable(subject):
        raise _misconduct(finding)
    for finding in side_effects(subject):
        is_meant = finding.kind is Kind.KEEPS_STATE and subject.reference.regime.is_training
        if not is_meant:
            raise _misconduct(finding)
    _check_draws(subject)
    now = notes_of(subject.model)
    changed = sorted(name for name in notes.keys() | now.keys() if notes.get(name) != now.get(name))
    if changed:
        first = changed[0]
        raise Misconduct(
            Reason.KEEPS_STATE,
            f"{first} was {notes.get(first)} and is {now.get(first)} a few calls later",
        )


def _check_draws(subject: Subject) -> None:
    """Also of numbers that are the same each time, since their generator is seeded in forward."""
    reference, inputs = subject.reference, copied(subject.inputs[0])
    with DrawWatch() as watch:
        call = reference.caller.begin(inputs)
        seed_everything(subject.seed)
        call.run()
    if watch.drawn:
        names = ", ".join(sorted(set(watch.drawn)))
        raise Misconduct(Reason.RANDOM, f"forward draws random numbers ({names}), though always the same")


def _misconduct(finding: Finding) -> Misconduct:
    return Misconduct(reason_of(finding.kind), f"{finding.subject}: {finding.evidence}")
