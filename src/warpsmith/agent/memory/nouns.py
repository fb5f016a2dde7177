"""A note: what was tried in a run, what it gave, and what that rests on."""

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

from warpsmith.core import Provenance


class State(StrEnum):
    """What became of a note; the name of the folder that it lies in."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    REJECTED = "rejected"  # kept, so that it is not proposed again


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One program of a run: what was meant, and what the judge said of it."""

    turn: int
    meant: str  # the policy's words, a line
    gave: str  # the verdict, a line
    time_us: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a note rests on, to be looked up again."""

    run: str  # the name of its folder
    started_at: str
    task_digest: str
    candidate_digest: str
    device: str
    gpu: str  # the one measured on, or the one modelled
    provenance: Provenance
    candidate_us: float
    eager_us: float
    compile_us: float | None
    floor_us: float
    low: float  # bounds of eager's time over the program's
    high: float
    gates: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One lesson. All text in it is clean: `agent.memory.cleaning` has been over it."""

    title: str
    task: str
    reference: str  # the task's hash without names and sizes
    policy: str
    operators: tuple[str, ...]
    steps: tuple[Step, ...]
    change: str  # the diff that gave most; empty: there was one program only
    evidence: Evidence
    lesson: str = ""  # in a policy's words, if one was asked
    worded_by: str = ""

    @property
    def note_id(self) -> str:
        """The same for the same program on the same task, whatever the words."""
        told = f"{self.reference}\0{self.evidence.candidate_digest}\0{self.evidence.provenance}"
        return hashlib.sha256(told.encode()).hexdigest()[:12]

    @property
    def is_modelled(self) -> bool:
        return self.evidence.provenance is not Provenance.MEASURED
