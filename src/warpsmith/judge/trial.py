"""One candidate on its way through the gates, and the task that it is tried for."""

from dataclasses import dataclass, field
from pathlib import Path

from warpsmith.core import (
    Accuracy,
    BuildFailed,
    Candidate,
    Coverage,
    Crashed,
    Implausible,
    NotRunnable,
    OffShape,
    PrecisionClass,
    Rejected,
    Sanitized,
    Task,
    TimedOut,
    Timing,
    Wrong,
)
from warpsmith.device.base import Device, Gpu
from warpsmith.judge.clock.baselines import Baselines, Pace
from warpsmith.judge.clock.floor import Floor, Traffic, floor
from warpsmith.judge.config import JudgeConfig
from warpsmith.judge.guest_client import GuestClient
from warpsmith.judge.oracle_client import OracleClient
from warpsmith.judge.protocol import Compared, Load, Opened, Regime
from warpsmith.toolchain import Build, Toolchain

Failure = Rejected | BuildFailed | Crashed | Wrong | TimedOut | NotRunnable | Implausible


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTask:
    """A task whose reference has run: what is known of it, who to ask, and the files made from it."""

    task: Task
    facts: Opened
    oracle: OracleClient
    folder: Path
    num_inputs: int
    baselines: Baselines = field(default_factory=Baselines)

    def floor(self, gpu: Gpu) -> Floor:
        """The speed of light for this task on `gpu`."""
        facts = self.facts
        traffic = Traffic(
            read_bytes=facts.read_bytes, input_bytes=facts.input_bytes, written_bytes=facts.written_bytes
        )
        return floor(facts.eager, traffic, precision=self.task.precision, gpu=gpu)

    @property
    def arguments(self) -> Path:
        return self.folder / "arguments"

    @property
    def weights(self) -> Path:
        return self.folder / "weights"

    @property
    def inputs(self) -> tuple[Path, ...]:
        return tuple(self.folder / f"inputs-{index}" for index in range(self.num_inputs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the oracle says of one call's outputs; `is_held`: as they were after the last call."""

    call: int
    compared: Compared
    is_held: bool = False


@dataclass(slots=True, kw_only=True)
class Trial:
    """What the gates share. All from `build` on is filled in by the gates that find it."""

    candidate: Candidate
    subject: OpenTask
    device: Device
    toolchain: Toolchain
    config: JudgeConfig
    guest: GuestClient
    build: Build | None = None
    answers: list[Answer] = field(default_factory=list)
    accuracy: Accuracy | None = None
    precision: PrecisionClass | None = None
    pace: Pace | None = None
    timing: Timing | None = None
    coverage: Coverage | None = None
    libraries: tuple[str, ...] = ()  # functions of cuBLAS, cuDNN and torch that the build asks for
    sanitized: Sanitized | None = None
    off_shapes: tuple[OffShape, ...] = ()
    advice: list[str] = field(default_factory=list)
    gates: list[str] = field(default_factory=list)  # passed so far, in their order


def load_of(trial: Trial) -> Load:
    """The request that loads a trial's candidate in a process of its own.

    All that it names lies in files: lent memory belongs to another process.
    """
    subject = trial.subject
    return Load(
        candidate=trial.guest.candidate,
        extension=trial.guest.extension,
        arguments=subject.arguments,
        weights=subject.weights,
        inputs=subject.inputs[:1],
        device=trial.device.kind,
        makes_on_device=subject.facts.makes_on_device,
        regime=Regime.of(subject.task),
    )
