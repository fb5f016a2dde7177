"""What is known of a reference before any candidate is judged, and how a candidate is run for a profiler."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from warpsmith.device.base import Gpu
from warpsmith.judge.clock.floor import Floor
from warpsmith.judge.clock.model import Launch, launch_us, program_us
from warpsmith.judge.protocol import Load, NamedTensor
from warpsmith.judge.trial import OpenTask


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A kernel launch of the reference as eager runs it; its time is modelled."""

    name: str
    num_bytes: int
    flops: int
    modelled_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A reference as the judge knows it."""

    gpu: Gpu
    inputs: tuple[NamedTensor, ...]
    weights: tuple[NamedTensor, ...]
    operators: tuple[Operator, ...]  # in the order in which they run
    read_bytes: int  # of inputs and weights, each once
    written_bytes: int
    eager_us: float  # modelled
    compiled_us: float  # modelled
    floor: Floor


class Watcher(StrEnum):
    """Who looks at a candidate's calls, and so what the process has to do around them."""

    SYSTEM = "system"  # Nsight Systems, from outside: several calls, each in a range
    TORCH = "torch"  # torch.profiler, from inside: the same
    KERNEL = "kernel"  # Nsight Compute, from outside: one call
    COUNTERS = "counters"  # the cpu device's own: one call


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What `python -m warpsmith.judge.guest.profiled` is to do."""

    load: Load
    watcher: Watcher
    out: Path  # what a watcher from inside writes
    range_name: str = ""  # around each call
    num_calls: int = 1
    num_warm: int = 3  # calls before it: they load code, and choose algorithms
    flush_bytes: int = 0  # written before each call that is watched, so that it finds a cold cache


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuCounts:
    """What the cpu device counts of one call."""

    kernels: tuple[str, ...]
    launches: int
    threads: int  # over all launches
    library_flops: int
    library_calls: int


def profile_of(subject: OpenTask, gpu: Gpu) -> Profile:
    """What the oracle told as it opened the task, and what follows from it."""
    facts = subject.facts
    return Profile(
        gpu=gpu,
        inputs=facts.inputs,
        weights=facts.weights,
        operators=tuple(_operator(launch, gpu) for launch in facts.eager),
        read_bytes=facts.read_bytes,
        written_bytes=facts.written_bytes,
        eager_us=program_us(facts.eager, gpu),
        compiled_us=program_us(facts.compiled, gpu),
        floor=subject.floor(gpu),
    )


def _operator(launch: Launch, gpu: Gpu) -> Operator:
    return Operator(
        name=launch.name,
        num_bytes=launch.num_bytes,
        flops=launch.flops,
        modelled_us=launch_us(launch, gpu),
    )
