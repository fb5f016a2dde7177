"""What a bench keeps of a task: small enough for a file each, whole enough for every table."""

from dataclasses import dataclass, field
from enum import StrEnum

from warpsmith.bench.suite import Mode, Name
from warpsmith.core import Cost, Passed, Provenance, StopReason, Timing, Verdict
from warpsmith.core.audit import Severity, TaskAudit, Unaudited


class Fate(StrEnum):
    """How a task's turn ended."""

    JUDGED = "judged"  # by a verdict, or by nothing that could be judged
    REFUSED = "refused"  # the judge does not open it: a verdict on it would prove nothing, or it does not run
    OURS = "ours"  # we failed, twice: this says nothing about the task or the policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Technique:
    """Operators that one kernel computes, as the policy told of them."""

    name: str  # "rmsnorm_gelu"
    recipe: str  # "rows"
    operators: tuple[str, ...] = ()
    variant: str = ""  # of the best program: "float4, 256 threads"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the policy said of its work, read from its replies."""

    techniques: tuple[Technique, ...] = ()
    shortcuts: tuple[str, ...] = ()  # algebra that leaves work of the reference out
    declined: str = ""  # the operator that it does not cover: "aten.convolution"
    last_words: str = ""  # one line


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRecord:
    """A task's outcome. `verdict` is that of record; where nothing has passed, the last one given."""

    name: Name
    mode: Mode
    device: str
    fate: Fate
    reason: str = ""  # in a line: why there is no program that passes
    verdict: Verdict | None = None
    candidate_digest: str | None = None
    stop: StopReason | None = None
    num_turns: int | None = None
    told: Told = field(default_factory=Told)
    audit: TaskAudit | Unaudited | None = None  # None: none was made
    cost: Cost = field(default_factory=Cost)
    num_tries: int = 1
    environment: dict[str, str] = field(default_factory=dict)
    at: str = ""

    @property
    def has_passed(self) -> bool:
        return isinstance(self.verdict, Passed)

    @property
    def timing(self) -> Timing | None:
        return self.verdict.timing if isinstance(self.verdict, Passed) else None

    @property
    def measured(self) -> Timing | None:
        """The timing, unless it is modelled."""
        timing = self.timing
        return timing if timing is not None and timing.provenance is Provenance.MEASURED else None

    @property
    def severity(self) -> Severity | None:
        """That of the audit's worst finding; None if there is none, or no audit."""
        return self.audit.severity if isinstance(self.audit, TaskAudit) else None

    @property
    def is_degenerate(self) -> bool:
        return self.severity is Severity.DEGENERATE
