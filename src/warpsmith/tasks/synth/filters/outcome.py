"""What became of a task in the filter: kept, rejected with a reason, or not decided because we failed."""

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

from warpsmith.core import Task
from warpsmith.core.audit import Finding


class Stage(StrEnum):
    """What is looked at, in this order: what is cheap comes first."""

    READ = "read"  # its text, nothing executed
    RUN = "run"  # eagerly: finite numbers, memory
    COMPILE = "compile"  # on CPU cores alone, while little memory of the GPU is held
    LOOK = "look"  # on several input sets, and in float64
    REPEAT = "repeat"  # deterministic, without state
    TELL = "tell"  # an answer for which nothing is computed is told from the right one
    AUDIT = "audit"  # what remains of the judge's audit
    AGREE = "agree"  # what was compiled runs, and answers as eager does
    TIME = "time"  # eagerly, alone on the GPU


class Reason(StrEnum):
    """Why a task is not kept."""

    NOT_PYTHON = "not Python"
    INCOMPLETE = "defines no Model, get_inputs or get_init_inputs"
    NOT_BUILT = "cannot be imported or constructed"
    NO_INPUTS = "get_inputs fails"
    FORWARD_RAISES = "forward raises"
    NO_ANSWER = "returns no tensors"
    NOT_FINITE = "not finite"
    TOO_LARGE = "needs too much memory"
    RANDOM = "random"
    SEEDS = "seeds a generator"
    UNSTABLE = "answers differ from call to call"
    KEEPS_STATE = "keeps state"
    CHANGES_INPUTS = "changes its inputs"
    CONSTANT = "constant"  # zeros, or the output's own mean, would pass for it
    INDISTINGUISHABLE = "the answer to other inputs would pass"
    COPIES_INPUT = "a copied input would pass"
    CHANGES_SETTINGS = "changes torch's settings"
    UNEXAMINABLE = "the judge's probes fail on it"
    DEGENERATE = "the judge's audit finds it degenerate"
    NOT_COMPILED = "torch.compile fails"
    COMPILED_DIFFERS = "torch.compile answers differently"
    TOO_FAST = "too fast"
    TOO_SLOW = "too slow"
    HANGS = "not done in time"
    CRASHES = "ends its process"
    FLOODS = "prints too much"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What was found out on the way; None or empty if the filter did not come that far."""

    eager_us: float | None = None
    is_time_modelled: bool = True  # computed from the recorded operators: nobody measured it
    memory_bytes: int | None = None  # of one call, weights and inputs among it
    is_memory_modelled: bool = True  # all that it ever touches, as if nothing were freed
    inputs: tuple[str, ...] = ()  # types and shapes
    outputs: tuple[str, ...] = ()
    num_launches: int | None = None  # in eager, by the record
    num_graph_breaks: int | None = None  # of torch.compile's
    compile_error: float | None = None  # of its answer, relative, as the judge measures it
    error_allowed: float | None = None  # by the judge
    told_apart: float | None = None  # times what is allowed: the best answer that computes nothing
    findings: tuple[Finding, ...] = ()  # the audit's, beyond notes
    skipped: tuple[str, ...] = ()  # what the audit had no time for
    stage_s: dict[str, float] = field(default_factory=dict)  # wall time by stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A task that passed every check."""

    task_id: str
    digest: str
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A task that is not to be used, and what that rests on."""

    task_id: str
    digest: str
    stage: Stage
    reason: Reason
    evidence: str
    facts: Facts = Facts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """A task that we failed to look at, twice. Another run tries it again."""

    task_id: str
    digest: str
    why: str


Outcome = Kept | Rejected | Undecided


def digest_of(task: Task) -> str:
    """The task's digest; also of one whose text is no text, and which has none."""
    try:
        return task.digest
    except UnicodeEncodeError:
        return hashlib.sha256(task.source.encode(errors="surrogatepass")).hexdigest()
