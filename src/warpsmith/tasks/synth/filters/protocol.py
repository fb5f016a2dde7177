"""What the filter asks its helper program about one task, and what that answers: one question a stage."""

from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import Tolerance
from warpsmith.core.audit import Finding
from warpsmith.device.base import Gpu
from warpsmith.judge.protocol import Regime
from warpsmith.tasks.synth.filters.config import Checks
from warpsmith.tasks.synth.filters.outcome import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Greet:
    """Whether it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeted:
    """It is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything comes after this: build the task in `source` and run it eagerly."""

    source: Path
    folder: Path  # for what the judge's examination wants to write
    device: str
    gpu: Gpu
    regime: Regime
    tolerance: Tolerance
    checks: Checks
    num_threads: int  # of torch's, so that visits side by side share the cores


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """It ran, and its numbers are finite."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    modelled_us: float
    num_launches: int
    memory_bytes: int
    is_memory_modelled: bool
    look_bytes: int  # modelled: what `Look` and all after it hold of the device's memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Answer several input sets, and find out what answers are held against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """Run it again: with other inputs in between, under another seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    """Hold answers for which nothing is computed against the right one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """By how much the best answer that computes nothing is off, as a multiple of what the judge allows."""

    times_allowed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Compile:
    """Compile it without running what comes of it, as far as that goes: graphs after a break come later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agree:
    """Run what was compiled, and compare it with eager."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """How far the compiled answer is off, relative, and what the judge allows."""

    error: float
    allowed: float
    num_graph_breaks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspect:
    """What remains of the judge's audit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """What is suspicious, and what there was no time for."""

    findings: tuple[Finding, ...]
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Time it eagerly on the GPU, each call with a cold cache. Whoever asks keeps others off the GPU."""

    flush_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocked:
    """The time of each call."""

    samples_us: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fine:
    """Nothing against it, and nothing to tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The task is not to be kept."""

    reason: Reason
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """What went wrong says nothing of the task."""

    why: str


Question = Greet | Run | Compile | Look | Repeat | Tell | Inspect | Agree | Clock
Reply = Greeted | Ran | Fine | Told | Agreed | Inspected | Clocked | Refused | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A question on its way; the answer carries the same nonce."""

    nonce: str
    request: Question


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer on its way."""

    nonce: str
    answer: Reply
