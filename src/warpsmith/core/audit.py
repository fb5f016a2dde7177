"""What is wrong with a task, before anybody is judged by it."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """What follows for the task."""

    DEGENERATE = "degenerate"  # a verdict on it proves nothing: it is not to be used as it is
    SUSPICIOUS = "suspicious"  # part of the work can be left out unnoticed: a speed-up on it is to be tagged
    NOTE = "note"  # worth knowing; says nothing against the task


class Kind(StrEnum):
    """What was found."""

    ZEROS = "zeros pass"
    CONSTANT = "a constant passes"  # the output's own mean, everywhere
    STALE = "a stale answer passes"  # the answer to another input set
    COPY = "a copied input passes"
    EQUAL_SLICES = "equal slices"  # along a dimension the output repeats itself
    FIXED_INPUTS = "fixed inputs"  # other seeds draw the same
    DEAD_INPUT = "dead input"
    DEAD_PART = "dead part of an input"
    IGNORED_WEIGHTS = "ignored weights"  # all of them together change nothing
    DEAD_PARAMETER = "dead parameter"
    NEUTRAL_PARAMETER = "neutral parameter"  # at its initial value, leaving it out is right
    DEAD_OPERATOR = "dead operator"  # nothing reads what it computes
    CANCELLED_OPERATOR = "cancelled operator"  # what it computes makes no difference in the end
    REDUNDANT_OPERATOR = "redundant operator"  # leaving it out makes no difference in the end
    IDENTITY_OPERATOR = "identity operator"  # gives back what it was given
    CONSTANT_OPERATOR = "constant operator"  # gives the same number everywhere
    SPARSE_OPERAND = "sparse operand"  # of a product: nearly all of it is multiplied by zero
    RANDOM = "random"
    UNSTABLE = "unstable"  # the reference fails against itself
    KEEPS_STATE = "keeps state"
    CHANGES_INPUTS = "changes its inputs"
    NONFINITE = "not finite"
    ILL_CONDITIONED = "ill-conditioned"
    NO_TRUTH = "no float64 truth"
    FIXED_TOLERANCE = "blind under a fixed tolerance"  # of an evaluator that takes no account of scale
    MODE = "depends on the mode"
    DTYPE = "fails in another dtype"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, what that rests on, and how to mend it."""

    kind: Kind
    severity: Severity
    subject: str  # which output, input, parameter or operator
    evidence: str  # what was done, and the figures that came of it
    repair: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAudit:
    """All that was found in one task, at the sizes that it was run at."""

    task_id: str
    digest: str
    scale: float
    inputs: tuple[str, ...]  # their types and shapes
    findings: tuple[Finding, ...]
    num_forwards: int  # runs of the reference that it took
    wall_s: float
    skipped: tuple[str, ...] = ()  # what was not looked at, and why

    @property
    def severity(self) -> Severity | None:
        """That of the worst finding."""
        found = {finding.severity for finding in self.findings}
        return next((severity for severity in Severity if severity in found), None)

    @property
    def is_clean(self) -> bool:
        """Whether there is nothing beyond notes."""
        return self.severity in (None, Severity.NOTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unaudited:
    """A task that could not be run."""

    task_id: str
    reason: str
