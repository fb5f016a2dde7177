"""What is asked of the helper that runs parts of tasks on the meta device, and what it answers."""

from dataclasses import dataclass

from warpsmith.tasks.synth.base import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """What a tensor is, without its numbers."""

    name: str  # "" for what is given to forward, or returned
    shape: Shape
    dtype: str
    is_contiguous: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Run a task on the meta device, where nothing is computed."""

    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The tensors of one call."""

    inputs: tuple[Tensor, ...]
    parameters: tuple[Tensor, ...]  # and buffers, by their names in the state_dict
    output: Tensor
    num_launches: int  # of eager; none if there are only views


@dataclass(frozen=True, slots=True, kw_only=True)
class NoLook:
    """It does not run there, or takes something else than tensors, or gives something else than one."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request on its way; the answer carries the same nonce."""

    nonce: str
    request: Look


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer on its way."""

    nonce: str
    answer: Looked | NoLook
