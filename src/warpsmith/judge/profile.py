"""What is known of a reference before any candidate is judged: tensors, operators, and the floor.

Names and shapes are read from the headers of the files that the oracle wrote; no tensor is touched.
"""

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpsmith.core import InfraError, Precision
from warpsmith.device.base import Gpu
from warpsmith.judge.clock.floor import Floor, Traffic, floor
from warpsmith.judge.clock.model import Launch, launch_us, program_us
from warpsmith.judge.trial import OpenTask

LENGTH_PLACE = slice(8, 16)  # of a tensor file: its header's length, little endian; see `tensorfile`
MAX_HEADER_BYTES = 16 << 20  # the oracle's process runs a stranger's reference: what it wrote is not trusted
MAX_NAME = 200
PLAINLY = (
    os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
)  # neither by a link nor waiting for a pipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """An input or a weight; an input's name is its place among the arguments."""

    name: str
    shape: tuple[int, ...]
    dtype: str


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
    inputs: tuple[Tensor, ...]
    weights: tuple[Tensor, ...]
    operators: tuple[Operator, ...]  # in the order in which they run
    read_bytes: int  # of inputs and weights, each once
    written_bytes: int
    eager_us: float  # modelled
    compiled_us: float  # modelled
    floor: Floor


def profile_of(subject: OpenTask, gpu: Gpu) -> Profile:
    """Raises InfraError if what the oracle wrote is not there any more."""
    facts = subject.facts
    traffic = Traffic(
        read_bytes=facts.read_bytes, input_bytes=facts.input_bytes, written_bytes=facts.written_bytes
    )
    return Profile(
        gpu=gpu,
        inputs=_tensors(subject.inputs[0]),
        weights=_tensors(subject.weights),
        operators=tuple(_operator(launch, gpu) for launch in facts.eager),
        read_bytes=facts.read_bytes,
        written_bytes=facts.written_bytes,
        eager_us=program_us(facts.eager, gpu),
        compiled_us=program_us(facts.compiled, gpu),
        floor=floor(facts.eager, traffic, precision=Precision(subject.task.precision), gpu=gpu),
    )


def _operator(launch: Launch, gpu: Gpu) -> Operator:
    return Operator(
        name=launch.name,
        num_bytes=launch.num_bytes,
        flops=launch.flops,
        modelled_us=launch_us(launch, gpu),
    )


def _tensors(path: Path) -> tuple[Tensor, ...]:
    try:
        header = _header(path)
        return tuple(_named(header["tree"], header["tensors"], ""))
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise InfraError(f"{path} cannot be read as a tensor file: {error}") from error


def _header(path: Path) -> dict[str, Any]:
    """Raises OSError or ValueError if there is none."""
    with os.fdopen(os.open(path, PLAINLY), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("no plain file")
        length = int.from_bytes(file.read(LENGTH_PLACE.stop)[LENGTH_PLACE], "little")
        header: dict[str, Any] = json.loads(file.read(min(length, MAX_HEADER_BYTES)))
    return header


def _named(node: list[Any], entries: list[dict[str, Any]], name: str) -> Iterator[Tensor]:
    """The tensors below a node, by their keys or places."""
    kind, *items = node
    if kind == "tensor":
        entry = entries[items[0]]
        shape = tuple(int(size) for size in entry["shape"])
        yield Tensor(name=name[:MAX_NAME], shape=shape, dtype=str(entry["dtype"])[:MAX_NAME])
    elif kind in ("list", "tuple"):
        for index, item in enumerate(items):
            yield from _named(item, entries, f"{name}.{index}" if name else str(index))
    elif kind == "dict":
        for key, item in items:
            yield from _named(item, entries, f"{name}.{key}" if name else str(key))
