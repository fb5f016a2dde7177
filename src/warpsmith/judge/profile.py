"""What is known of a reference before any candidate is judged: tensors, operators, and the floor."""

from dataclasses import dataclass

from warpsmith.device.base import Gpu
from warpsmith.judge.clock.floor import Floor
from warpsmith.judge.clock.model import Launch, launch_us, program_us
from warpsmith.judge.protocol import NamedTensor
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
