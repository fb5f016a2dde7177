"""What a bench and its worker processes say to each other, a line of JSON each."""

from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from warpsmith.agent.runs.spec import RunSpec
from warpsmith.bench.record import TaskRecord
from warpsmith.bench.suite import Name
from warpsmith.core.codec import from_json, to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A task to be worked on. `spec.task` has its source."""

    name: Name
    spec: RunSpec
    device: str  # its name; a worker that finds another must not begin
    folder: Path  # of the run, to go on with if there is one
    audit: Path  # where the audit is kept
    audit_s: float  # of probing; 0: no audit
    num_tries: int = 1
    is_anew: bool = False  # what the folder holds has failed: put it aside
    memory_bytes: int = 0  # of a GPU, that it is predicted to take; 0: nothing that others would miss


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """What a worker is at, for the eye."""

    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A task's outcome."""

    record: TaskRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Our failure. `is_lasting` if another try will not help: something is missing here, or named wrongly."""

    reason: str
    is_lasting: bool = False
    is_usage: bool = False  # and it is for whoever asked to mend


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """The task was left at the end of a step, on request; its run can go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The worker process is gone; it says nothing of this itself. Negative codes are signals."""

    code: int


Said = Doing | Done | Failed | Interrupted
KINDS: dict[str, type[Said]] = {kind.__name__: kind for kind in get_args(Said)}


def written(message: Job | Said) -> str:
    """One line."""
    return to_json(message) + "\n"


def read_job(line: str) -> Job:
    return from_json(Job, line)


def read_said(line: str) -> Said:
    """Raises ValueError for a line that is none of these."""
    name = line.partition('"type": "')[2].partition('"')[0]
    if name not in KINDS:
        raise ValueError(f"a worker said {line!r:.200}")
    said: Said = from_json(KINDS[name], line)
    return said
